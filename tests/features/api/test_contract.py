"""The service keeps to the document that it publishes, whatever it is sent."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.schemas import BaseSchema

from core.features.api import create_app
from core.features.api.routes.history import Form
from core.runtime.registry import RunRegistry
from core.text.sanitize import is_visible
from tests.features.api.conftest import DEMO, QUESTION, Api

pytestmark = pytest.mark.slow


def _nobody() -> RunRegistry:
    raise AssertionError("the document is made without any runs")


@pytest.fixture(scope="module")
def document() -> BaseSchema:
    """The published document, which takes seconds to read: not while tests are collected."""
    return schemathesis.openapi.from_dict(create_app(_nobody).openapi())


# Not /connect: it calls the addresses that it is given; and with a key, a question calls that of the key's provider.
operations = (
    schemathesis.pytest.from_fixture("document")
    .exclude(path=["/connect", "/{method}/query"])
    .exclude(path="/collections/{name}/documents", method="POST")  # it fetches the addresses that it is given
)


def readable(value: Any) -> Any:
    """The same value, with a letter in texts without a visible character, which JSON Schema cannot ask for."""
    if isinstance(value, dict):
        return {key: readable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [readable(item) for item in value]
    return "x" if isinstance(value, str) and value and not is_visible(value) else value


def stays_at_home(body: Any) -> Any:
    """The same body, searching nothing but the demo library: the tests reach no network, and have no collections."""
    if isinstance(body, dict) and body.get("origin") in ("library", "both"):
        body["origin"] = "web"
    if isinstance(body, dict) and isinstance(body.get("knobs"), dict):
        search = body["knobs"].get("search", {})
        if isinstance(search, dict):
            body["knobs"]["search"] = {**search, "backend": "demo", "origin": "web"}
    if isinstance(body, dict) and isinstance(body.get("value"), dict):
        body["value"] = {**body["value"], **DEMO}
    return body


@pytest.mark.timeout(600)  # all operations are one test
@operations.parametrize()
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_path_keeps_to_the_document(case: Any, api: Api) -> None:
    case.body = stays_at_home(case.body)
    if case.path.startswith("/v1/responses/"):
        (case.query or {}).pop("stream", None)  # it is read, and refused
    if case.meta.generation.mode.is_positive and isinstance(case.body, dict):
        # JSON Schema does not say which of its fields go together, nor how many dimensions the embedder has.
        case.body = readable(case.body)
        case.body.pop("config_schema", None)
        case.body.pop("dimensions", None)
        run = case.body.get("knobs", {}).get("run", {}) if isinstance(case.body.get("knobs"), dict) else {}
        if {case.body.get("method"), run.get("method") if isinstance(run, dict) else None} & {
            "agent",
            "deep",
        }:
            case.body.pop("queries", None)
    case.call_and_validate(base_url=api.url)


@pytest.mark.parametrize("form", list(Form))
def test_a_run_is_what_the_document_says(api: Api, document: BaseSchema, form: str) -> None:
    run_id = api.post("/research", json={"question": QUESTION}).json()["id"]
    reply = api.get(f"/runs/{run_id}", params={"form": form})
    document["/runs/{id}"]["GET"].validate_response(schemathesis.Response.from_httpx(reply, verify=False))
