"""What a session keeps on the server, and that it ends."""

import pytest
from pydantic import ValidationError

from core.config.access import NO_ACCESS
from core.features.api.responses.agent_messages import AgentMessage, AgentResponse
from core.features.api.routes.connect import ConnectRequest, SessionData
from core.features.api.routes.questions import Message
from core.features.api.sessions import DEFAULTS, IDLE_SECONDS, MESSAGES, ChatMessage, Session, Sessions
from tests.features.api.conftest import DEMO, QUESTION, Api, Visitor
from tests.services.openai_server import FakeOpenAI, streamed

pytestmark = pytest.mark.slow

OTHER = "What does BM25 reward?"


def test_a_session_keeps_what_was_said_in_it(api: Api, fake_openai: FakeOpenAI) -> None:
    header = api.session(fake_openai)
    replies = ("Overlap keeps facts whole [1].", OTHER, "Rare words [1].")
    fake_openai.chats.extend(map(streamed, replies))
    run = api.post("/research", json={"question": QUESTION}, headers=header).json()
    api.post("/qa", json={"question": OTHER}, headers=header).raise_for_status()
    messages = api.get("/session", headers=header).json()["messages"]
    assert [(turn["role"], turn["content"]) for turn in messages] == [
        ("user", QUESTION),
        ("assistant", "Overlap keeps facts whole [1]."),
        ("user", OTHER),
        ("assistant", "Rare words [1]."),
    ]
    assert messages[0]["run"] == messages[1]["run"] == run["id"]
    assert api.get("/session", headers=api.session(fake_openai)).json()["messages"] == [], "nobody else's"


def test_a_request_that_names_no_session_is_refused(api: Api) -> None:
    api.post("/qa", json={"question": QUESTION}).raise_for_status()
    for reply in (api.get("/session"), api.get("/session", headers={"X-OpenQuery-Session": "never"})):
        assert reply.status_code == 403
        assert "/connect" in reply.json()["hint"]


def test_each_way_to_ask_may_have_its_own_configuration(visitor: Visitor) -> None:
    mine = {**DEMO, "search.results": 2, "rank.strategy": "bm25"}
    visitor.put("/config?method=qa", json={"value": mine}).raise_for_status()
    config = visitor.get("/session").json()["config"]
    assert {method: knobs["rank"]["strategy"] for method, knobs in config.items()} == {
        "qa": "bm25",
        "query": "cosine",
        "research": "fused",
        "chat": "fused",
    }
    assert visitor.get("/config?method=qa").json()["value"]["search.results"] == 2
    assert visitor.get("/config").json()["value"]["rank.strategy"] == "fused"
    visitor.put("/config", json={"value": DEMO}).raise_for_status()
    assert visitor.get("/config?method=qa").json()["value"]["rank.strategy"] == "cosine", "of all"
    visitor.put("/config?method=qa", json={"value": mine}).raise_for_status()
    visitor.model.chats.append(streamed("Overlap [1]."))
    visitor.post("/qa", json={"question": QUESTION}).raise_for_status()
    run = visitor.get("/session").json()["messages"][0]["run"]
    assert visitor.get(f"/runs/{run}?form=full").json()["knobs"]["rank"]["strategy"] == "bm25"


def test_an_unknown_method_is_refused(visitor: Visitor) -> None:
    reply = visitor.put("/config?method=guess", json={"value": {}})
    assert reply.status_code == 422
    assert [fault["field"] for fault in reply.json()["errors"]] == ["query.method"]


def test_an_ended_session_leaves_nothing_behind(api: Api, fake_openai: FakeOpenAI) -> None:
    header = api.session(fake_openai)
    assert api.delete("/session", headers=header).status_code == 204
    assert api.get("/session", headers=header).status_code == 403


def test_messages_and_sessions_are_bounded() -> None:
    session = Session()
    for number in range(MESSAGES + 50):
        session.add_message("user", str(number), "run")
    assert len(session.messages) == MESSAGES
    assert session.messages[-1].content == str(MESSAGES + 49)
    current_time = 0.0
    sessions = Sessions(clock=lambda: current_time)
    token = sessions.open(NO_ACCESS, DEFAULTS)
    used = sessions.use(token)
    assert used is not None
    current_time = 1e6
    assert sessions.use(token) is None, "idle for too long"


def test_those_without_a_session_are_not_remembered() -> None:
    own = Session(keeps_messages=False)
    own.add_message("user", QUESTION, "run")
    assert not own.messages


def test_every_value_of_the_session_design_has_its_defaults() -> None:
    assert AgentMessage(agent="plan", content="a").model_dump() == {
        "agent": "plan",
        "content": "a",
        "tools": [],
        "response_metadata": {},
        "execution_time": 0.0,
    }
    assert AgentResponse().model_dump() == {
        "query": "",
        "agent_messages": [],
        "iterations": 0,
        "execution_time": 0.0,
        "content": "",
        "error": "",
        "notes": [],  # this and the next are not the design's
        "stored": True,
    }
    assert SessionData().model_dump() == {
        "messages": [],
        "config": {},
        "model": "",
        "provided": [],
        "brought": [],  # its earlier name
        "uploaded_files": {},
        "files": [],
        "idle_seconds": IDLE_SECONDS,
    }
    session = Session()
    assert (session.access.api_key, session.access.files, session.access.provided) == (None, None, [])
    message, url = Message(user_query="Why?"), ConnectRequest(url="http://127.0.0.1:1")
    assert (message.user_query, message.api_key.get_secret_value()) == ("Why?", "")
    assert (url.url, url.user, url.pwd) == ("http://127.0.0.1:1", None, None)


@pytest.mark.parametrize("kind", [AgentMessage, Message, ChatMessage])
def test_a_value_without_its_required_fields_is_refused(
    kind: type[AgentMessage | Message | ChatMessage],
) -> None:
    with pytest.raises(ValidationError):
        kind.model_validate({})


def test_a_chat_message_has_one_of_six_roles() -> None:
    for role in ("system", "assistant", "user", "function", "tool", "developer"):
        assert ChatMessage.model_validate({"role": role, "content": "a"}).role == role
    for wrong in ({"role": "critic", "content": "a"}, {"role": "user"}, {"role": "user", "content": None}):
        with pytest.raises(ValidationError):
            ChatMessage.model_validate(wrong)
