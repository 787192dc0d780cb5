"""`POST /connect`: a model server of one's own, checked at once and never told again."""

from typing import Any

import pytest

from core.config.access import NO_ACCESS
from core.features.api.sessions import DEFAULTS, IDLE_SECONDS, SESSIONS, Sessions
from tests.features.api.conftest import DEMO, QUESTION, Api, Serve
from tests.services.loopback import Gate
from tests.services.openai_server import MODEL, FakeOpenAI, streamed

pytestmark = pytest.mark.slow

KEY = "sk-right-0123456789"


def connected(api: Api, server: FakeOpenAI, **more: Any) -> Any:
    return api.post("/connect", json={"base_url": server.base_url, "api_key": KEY, "model": MODEL, **more})


def test_session_lists_models_of_its_server_without_the_key(api: Api, fake_openai: FakeOpenAI) -> None:
    fake_openai.key = KEY
    reply = connected(api, fake_openai)
    assert reply.status_code == 201
    assert reply.json()["model"] == MODEL
    assert MODEL in reply.json()["offered"]
    assert len(reply.json()["session"]) >= 40
    assert KEY not in reply.text
    assert fake_openai.base_url not in reply.text


def test_first_offered_model_writes_when_none_is_named(api: Api, fake_openai: FakeOpenAI) -> None:
    assert connected(api, fake_openai, model="").json()["model"] == MODEL


@pytest.mark.parametrize(
    "wrong", [{"api_key": "sk-wrong-0123456789"}, {"model": "no-such-model"}, {"base_url": "http://127.0.0.1:9/v1"}]
)  # fmt: skip
def test_what_does_not_work_is_reported_at_once(
    api: Api, fake_openai: FakeOpenAI, wrong: dict[str, str]
) -> None:
    fake_openai.key, fake_openai.serves = KEY, {MODEL}
    reply = connected(api, fake_openai, **wrong)
    assert reply.status_code == 422
    assert reply.json()["detail"]
    assert KEY not in reply.text
    assert "sk-wrong" not in reply.text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("base_url", "ftp://127.0.0.1/v1"),
        ("base_url", "http://user:pass@127.0.0.1/v1"),
        ("base_url", 7),
        ("api_key", ["sk-right-0123456789"]),
        ("password", "x"),
    ],
)
def test_wrong_field_is_named_without_its_value(
    api: Api, fake_openai: FakeOpenAI, field: str, value: Any
) -> None:
    reply = connected(api, fake_openai, **{field: value})
    assert reply.status_code == 422
    assert [fault["field"].partition(".")[0] for fault in reply.json()["errors"]] == [field]
    assert "pass@" not in reply.text
    assert KEY not in reply.text


def test_the_key_is_in_nothing_that_can_be_read(api: Api, fake_openai: FakeOpenAI) -> None:
    fake_openai.key = KEY
    header = {"X-OpenQuery-Session": connected(api, fake_openai).json()["session"]}
    api.put("/config", json={"value": DEMO}, headers=header).raise_for_status()
    fake_openai.chats.append(streamed("Overlap keeps facts whole [1]."))
    run = api.post("/research", json={"question": QUESTION}, headers=header).json()
    for path in (
        f"/runs/{run['id']}?form=full",
        f"/runs/{run['id']}?form=agent",
        "/config",
        "/metrics",
        "/health",
    ):
        assert KEY not in api.get(path, headers=header).text
    api.runs.store.flush()
    assert KEY.encode() not in api.runs.store.path.read_bytes()


def test_ended_or_unknown_session_is_refused(api: Api, fake_openai: FakeOpenAI) -> None:
    header = api.session(fake_openai)
    assert api.delete("/connect", headers=header).status_code == 204
    for ended_header in (header, {"X-OpenQuery-Session": "never"}):
        reply = api.post("/qa", json={"question": QUESTION}, headers=ended_header)
        assert reply.status_code == 403
        assert "/connect" in reply.json()["hint"]


def test_on_a_shared_server_strange_addresses_are_not_called(serve: Serve, fake_openai: FakeOpenAI) -> None:
    reply = connected(serve(shared=True), fake_openai)
    assert reply.status_code == 422
    assert "operator" in reply.json()["detail"]
    assert fake_openai.requests == []


def test_a_session_ends_while_its_run_goes_on(api: Api, fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.chats.append(streamed("Half of it. ", gate, "The rest."))
    headers = {"Accept": "text/event-stream", **api.session(fake_openai)}
    with api.client.stream("POST", "/research", json={"question": QUESTION}, headers=headers) as reply:
        lines = reply.iter_lines()
        assert any(line == "event: TokensWritten" for line in lines)
        api.delete("/connect", headers=headers)
        gate.open()
        assert any(line == "event: RunDone" for line in lines)


def test_an_idle_session_ends_and_the_idlest_makes_room() -> None:
    current_time = 0.0
    sessions = Sessions(clock=lambda: current_time)
    first = sessions.open(NO_ACCESS, DEFAULTS)
    others = [sessions.open(NO_ACCESS, DEFAULTS) for _ in range(SESSIONS - 1)]
    assert sessions.use(first) is not None
    sessions.open(NO_ACCESS, DEFAULTS)
    assert sessions.use(others[0]) is None
    assert sessions.use(first) is not None
    current_time = IDLE_SECONDS - 1
    assert sessions.use(first) is not None
    current_time = 2 * IDLE_SECONDS - 2
    assert sessions.use(first) is not None
    assert sessions.use(others[1]) is None
    current_time = 4 * IDLE_SECONDS
    assert sessions.use(first) is None
