"""`POST /{method}/query`: any method by its name, answered as agent messages."""

import pytest

from core.features.api.sessions import Endpoint
from tests.features.api.conftest import QUESTION, Api, Visitor
from tests.services.openai_server import called, failure, streamed

pytestmark = pytest.mark.slow

KEY = "sk-for-this-question-alone"


def test_method_answers_as_configured_with_the_key_of_its_question(visitor: Visitor) -> None:
    own = {"search.backend": "demo", "plan.queries": 1, "rank.top_k": 2}
    visitor.put("/config?method=qa", json={"value": own}).raise_for_status()
    visitor.model.chats.extend([streamed("Overlap keeps facts whole [1]."), streamed("It does [1].")])
    reply = visitor.post("/qa/query", json={"user_query": QUESTION, "api_key": KEY})
    response = reply.raise_for_status().json()
    assert (response["query"], response["content"]) == (QUESTION, "Overlap keeps facts whole [1].")
    assert (response["iterations"], response["error"]) == (1, "")
    assert [message["agent"] for message in response["agent_messages"]] == ["answer"]
    visitor.post("/chat/query", json={"user_query": QUESTION}).raise_for_status()
    keys = [request.headers["authorization"] for request in visitor.model.chat_requests]
    assert keys == [f"Bearer {KEY}", "Bearer sk-of-a-visitor"]
    session = visitor.get("/session")
    assert [turn["content"] for turn in session.json()["messages"]][1::2] == [
        response["content"],
        "It does [1].",
    ]
    run = visitor.get(f"/runs/{session.json()['messages'][0]['run']}?form=full")
    assert run.json()["knobs"]["rank"]["top_k"] == 2
    assert KEY not in reply.text + session.text + run.text


def test_runs_use_every_field_of_a_method_configuration(api: Api) -> None:
    header = api.connect()
    for number, method in enumerate(Endpoint, 1):
        own = {
            "search.backend": "demo",
            "search.results": number,
            "plan.queries": number,
            "read.page_timeout": number + 5.5,
            "rank.strategy": "fused",
            "rank.top_k": number,
            "rank.threshold": number / 10,
            "answer.length": "long",
        }
        api.put(f"/config?method={method}", json={"value": own}, headers=header).raise_for_status()
        api.post(f"/{method}/query", json={"user_query": QUESTION}, headers=header).raise_for_status()
    session = api.get("/session", headers=header).json()
    for method, turn in zip(Endpoint, session["messages"][1::2], strict=True):
        assert api.get(f"/runs/{turn['run']}").json()["knobs"] == session["config"][method], method
    assert [config["rank"]["top_k"] for config in session["config"].values()] == [1, 2, 3, 4]


def test_failed_run_is_a_reply_whose_error_says_why(visitor: Visitor) -> None:
    visitor.model.chats.append(failure(400, "No."))
    reply = visitor.post("/research/query", json={"user_query": QUESTION})
    assert reply.status_code == 200
    assert reply.json()["query"] == QUESTION
    assert reply.json()["error"]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/guess/query", {"user_query": "a"}, "method"),
        ("/qa/query", {}, "user_query"),
        ("/qa/query", {"user_query": ""}, "user_query"),
        ("/qa/query", {"user_query": "x" * 1001}, "user_query"),
        ("/qa/query", {"user_query": "a", "api_key": 7}, "api_key"),
        ("/qa/query", {"user_query": "a", "top_k": 7}, "top_k"),
    ],
)
def test_what_is_wrong_with_a_question_is_named(
    api: Api, path: str, body: dict[str, object], field: str
) -> None:
    reply = api.post(path, json=body)
    assert reply.status_code == 422
    assert [fault["field"].rpartition(".")[2] for fault in reply.json()["errors"]] == [field]


def test_agent_has_a_message_for_each_step(visitor: Visitor) -> None:
    visitor.model.chats.extend(
        [
            called(("search", {"query": "chunk overlap"}), text="I look for pages.", usage=(90, 10)),
            called(("open", {"url": "https://handbook.openquery.example/chunk-overlap"})),
            streamed("DONE"),
            streamed("Overlap keeps facts whole [1]."),
        ]
    )
    run = visitor.post("/research", json={"question": QUESTION, "method": "agent"}).json()
    response = visitor.get(f"/runs/{run['id']}?form=agent").json()
    search, read, done, answer = response["agent_messages"]
    assert (search["agent"], search["content"]) == ("agent", "I look for pages.")
    assert [(tool["name"], tool["input"]) for tool in search["tools"]] == [
        ("search", '{"query": "chunk overlap"}')
    ]
    assert search["tools"][0]["output"].endswith("hits")
    assert search["response_metadata"]["token_usage"]["total_tokens"] == 100
    assert search["response_metadata"]["model"].startswith("fake-chat")
    assert 0 < search["execution_time"] <= response["execution_time"]
    assert (read["tools"][0]["name"], answer["agent"]) == ("open", "answer")
    assert (done["agent"], done["content"], done["tools"]) == ("agent", "DONE", [])
    assert response["iterations"] == 4, "three decisions and an answer"


def test_a_follow_up_has_a_message_for_its_rewrite(visitor: Visitor) -> None:
    visitor.model.chats.append(streamed("Overlap keeps facts whole [1]."))
    visitor.post("/qa", json={"question": QUESTION}).raise_for_status()
    standalone = "How large should the overlap of chunks be?"
    visitor.model.chats.extend([streamed(standalone, usage=(70, 8)), streamed("A tenth [1].")])
    response = visitor.post("/qa/query", json={"user_query": "And how large?"}).json()
    rewrite, answer = response["agent_messages"]
    assert (response["query"], rewrite["agent"], rewrite["content"]) == (
        "And how large?",
        "rewrite",
        standalone,
    )
    assert rewrite["response_metadata"]["token_usage"]["total_tokens"] == 78
    assert rewrite["execution_time"] > 0
    assert answer["content"] == "A tenth [1]."
