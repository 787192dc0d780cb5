"""A SearXNG and a Qdrant of one's own in a session: asked at once, used by its questions alone, never told again."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from tests.features.api.conftest import QUESTION, Api, Serve
from tests.services.loopback import Loopback, Reply, Request, json_reply
from tests.services.openai_server import MODEL, FakeOpenAI
from tests.services.qdrant import FakeQdrant

pytestmark = pytest.mark.slow

PASSWORD, KEY = "the-kettle-password", "the-kettle-key"
BASIC = "Basic " + base64.b64encode(f"anna:{PASSWORD}".encode()).decode()


@pytest.fixture
def searxng() -> Iterator[Loopback]:
    """A SearXNG behind basic authentication that finds nothing."""

    async def answer(request: Request) -> Reply:
        if request.headers.get("authorization") != BASIC:
            return Reply((b"",), status=401)
        if request.path == "/config":
            return json_reply({"version": "1", "engines": []})
        if not request.query.get("q"):
            return json_reply({"error": "No query"}, status=400)
        return json_reply({"query": "", "results": [], "unresponsive_engines": []})

    with Loopback(answer) as server:
        yield server


@pytest.fixture
def qdrant() -> Iterator[FakeQdrant]:
    with FakeQdrant(KEY) as server:
        yield server


def given(searxng: Loopback, qdrant: FakeQdrant, **more: Any) -> dict[str, Any]:
    return {
        "searxng_url": searxng.url,
        "searxng_username": "anna",
        "searxng_password": PASSWORD,
        "qdrant_url": qdrant.url,
        "qdrant_api_key": KEY,
        **more,
    }


def test_servers_of_a_session_work_and_are_never_repeated(
    api: Api, searxng: Loopback, qdrant: FakeQdrant
) -> None:
    reply = api.post("/connect", json=given(searxng, qdrant))
    assert reply.status_code == 201
    assert reply.json()["collections"] == []
    header = {"X-OpenQuery-Session": reply.json()["session"]}
    session = api.get("/session", headers=header)
    assert session.json()["provided"] == session.json()["brought"] == ["searxng", "qdrant"]
    for text in (reply.text, session.text, api.get("/config", headers=header).text):
        for secret in (PASSWORD, KEY, searxng.url, qdrant.url):
            assert secret not in text


def test_session_questions_go_to_its_own_servers_only(
    api: Api, searxng: Loopback, qdrant: FakeQdrant
) -> None:
    header = api.connect(**given(searxng, qdrant))
    value = {"search.backend": "searxng", "search.origin": "both", "plan.queries": 1}
    api.put("/config", json={"value": value}, headers=header).raise_for_status()
    before = len(searxng.requests), len(qdrant.requests)
    api.post("/qa", json={"question": QUESTION, "origin": "both", "collections": ["mine"]}, headers=header)
    assert any(request.query.get("q") == QUESTION for request in searxng.requests)
    assert len(qdrant.requests) > before[1]
    before = len(searxng.requests), len(qdrant.requests)
    api.post("/qa", json={"question": QUESTION}).raise_for_status()
    assert (len(searxng.requests), len(qdrant.requests)) == before
    api.runs.store.flush()
    for path in api.runs.settings.folder.glob("*.sqlite*"):
        for secret in (PASSWORD, KEY):
            assert secret.encode() not in path.read_bytes()


@pytest.mark.parametrize(
    "wrong",
    [
        {"searxng_password": "another-password"},
        {"qdrant_api_key": "another-key"},
        {"searxng_url": "http://127.0.0.1:9"},
        {"qdrant_url": "http://127.0.0.1:9"},
    ],
)
def test_what_does_not_work_opens_no_session(
    api: Api, searxng: Loopback, qdrant: FakeQdrant, wrong: dict[str, str]
) -> None:
    reply = api.post("/connect", json=given(searxng, qdrant, **wrong))
    assert reply.status_code == 422
    assert reply.json()["detail"]
    for secret in (PASSWORD, KEY, "another-password", "another-key"):
        assert secret not in reply.text


@pytest.mark.parametrize(
    "alone", [{"searxng_username": "anna"}, {"searxng_password": PASSWORD}, {"qdrant_api_key": KEY}]
)
def test_a_secret_without_its_server_is_refused(api: Api, alone: dict[str, str]) -> None:
    reply = api.post("/connect", json=alone)
    assert reply.status_code == 422
    assert PASSWORD not in reply.text
    assert KEY not in reply.text


# --- url, user and pwd --------------------------------------------------------------------------------------


def test_url_tells_its_kind_and_never_repeats_its_password(
    api: Api, searxng: Loopback, qdrant: FakeQdrant, fake_openai: FakeOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    fake_openai.key = KEY
    services = (
        ({"url": searxng.url, "user": "anna", "pwd": PASSWORD}, ["searxng"], ""),
        ({"url": qdrant.url, "pwd": KEY}, ["qdrant"], ""),
        ({"url": fake_openai.base_url, "user": None, "pwd": KEY}, ["api_key", "base_url"], MODEL),
    )
    for body, own_parts, model in services:
        reply = api.post("/connect", json=body)
        assert reply.status_code == 201, reply.text
        assert (reply.json()["provided"], reply.json()["model"]) == (own_parts, model)
        header = {"X-OpenQuery-Session": reply.json()["session"]}
        texts = reply.text + api.get("/session", headers=header).text + caplog.text
        assert not any(secret in texts for secret in (PASSWORD, KEY, body["url"]))
    api.runs.store.flush()
    files = [file for file in api.runs.settings.folder.rglob("*") if file.is_file()]
    assert files
    assert not any(secret.encode() in file.read_bytes() for file in files for secret in (PASSWORD, KEY))


def test_session_questions_go_to_its_url_with_user_and_password(api: Api, searxng: Loopback) -> None:
    body = {"url": searxng.url, "user": "anna", "pwd": PASSWORD}
    header = api.connect(**body)
    api.put("/config", json={"value": {"plan.queries": 1}}, headers=header).raise_for_status()
    api.post("/qa", json={"question": QUESTION}, headers=header)
    (search_request,) = [request for request in searxng.requests if request.query.get("q") == QUESTION]
    assert search_request.headers["authorization"] == BASIC


def test_url_stands_beside_servers_with_separate_fields(
    api: Api, searxng: Loopback, qdrant: FakeQdrant
) -> None:
    body = {"url": qdrant.url, "pwd": KEY, "searxng_url": searxng.url, "searxng_username": "anna"}
    reply = api.post("/connect", json={**body, "searxng_password": PASSWORD})
    assert reply.json()["provided"] == reply.json()["brought"] == ["searxng", "qdrant"]
    assert not any(BASIC in str(request.headers) for request in qdrant.requests)
    assert not any(KEY in str(request.headers) for request in searxng.requests)


@pytest.mark.parametrize(
    ("wrong", "fields"),
    [
        ({"pwd": "another-password"}, ["url", "url", "url"]),
        ({"url": "http://127.0.0.1:9"}, ["url", "url", "url"]),
        ({"url": "ftp://127.0.0.1"}, ["url"]),
        ({"url": ""}, ["body"]),
        ({"url": None}, ["url"]),
        ({"user": 7}, ["user"]),
    ],
)
def test_unusable_url_says_why_and_opens_no_session(
    api: Api, searxng: Loopback, wrong: dict[str, Any], fields: list[str]
) -> None:
    body = {"url": searxng.url, "user": "anna", "pwd": PASSWORD, **wrong}
    reply = api.post("/connect", json=body)
    assert reply.status_code == 422
    assert [fault["field"] for fault in reply.json()["errors"]] == fields
    assert not any(secret in reply.text for secret in (PASSWORD, "another-password"))


@pytest.mark.parametrize("part", ["searxng_url", "qdrant_url", "url"])
def test_on_a_shared_server_strange_addresses_are_not_called(
    serve: Serve, searxng: Loopback, qdrant: FakeQdrant, part: str
) -> None:
    address = qdrant.url if part == "qdrant_url" else searxng.url
    reply = serve(shared=True).post("/connect", json={part: address})
    assert reply.status_code == 422
    assert "operator" in reply.json()["detail"]
    assert (searxng.requests, qdrant.requests) == ([], [])


def test_operator_password_does_not_go_to_a_visitor_server(
    serve: Serve, searxng: Loopback, qdrant: FakeQdrant
) -> None:
    api = serve(searxng_url="http://127.0.0.1:9", searxng_username="root", searxng_password="operators-own")
    api.post("/connect", json={"searxng_url": searxng.url})
    api.post("/connect", json={"qdrant_url": qdrant.url})
    request_headers = [str(request.headers) for request in (*searxng.requests, *qdrant.requests)]
    assert request_headers
    assert not any("authorization" in headers or "api-key" in headers for headers in request_headers)


def test_silent_library_is_a_failure_of_its_server(serve: Serve) -> None:
    api = serve(qdrant_url="http://127.0.0.1:9")
    reply = api.post("/qa", json={"question": "What is in the notes?", "origin": "library"})
    assert reply.status_code == 503, "there is no chat model either"
    assert reply.json()["hint"]
