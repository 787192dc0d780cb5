"""Every route in the quick selection: it replies with a status and a body that its document names."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from core.features.api import create_app
from core.runtime.registry import RunRegistry
from tests.features.api.conftest import settings


def _nobody() -> RunRegistry:
    raise AssertionError("the document is made without any runs")


DOCUMENT: dict[str, Any] = create_app(_nobody).openapi()
ROUTES = [
    pytest.param(method, path, sorted(operation["responses"]), id=f"{method} {path}")
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
]
ABSENT = {
    "id": "no-such-run",
    "link": "no-such-link",
    "name": "no-such-name",
    "method": "retrieval",
    "document": "no-such-document",
    "digest": 64 * "0",
    "file": "no-such-file",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    runs = RunRegistry(settings(tmp_path_factory.mktemp("every_route")))
    with TestClient(create_app(runs), "http://127.0.0.1", client=("127.0.0.1", 50_000)) as client:
        yield client
    runs.close()


@pytest.mark.parametrize(("method", "path", "documented"), ROUTES)
def test_each_route_replies_as_its_document_says(
    client: TestClient, method: str, path: str, documented: list[str]
) -> None:
    body = {"json": {}} if method in ("post", "put") else {}
    reply = client.request(method, path.format_map(ABSENT), **body)
    assert str(reply.status_code) in documented
    if reply.is_client_error:
        assert reply.json()["detail"]


def test_no_field_of_the_document_can_only_be_null() -> None:
    """The generator of Python clients of openapi-generator 7.26 ends with an error at such a field."""

    def fields(value: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            yield from value.get("properties", {}).values()
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from fields(part)

    assert "null" not in [field.get("type") for field in fields(DOCUMENT) if isinstance(field, dict)]
