"""`POST /qa`: what the model is sent, what fails in whose place, and answers that are given again."""

import re
from typing import Any

import pytest
from pydantic import SecretStr

from tests.features.api.conftest import DEMO, QUESTION, Api, Serve, Visitor
from tests.features.api.routes.test_session_files import HERE, settled
from tests.services.openai_server import MODEL, FakeOpenAI, failure, streamed
from tests.services.process import closed_port

pytestmark = pytest.mark.slow

ASKED = {"question": QUESTION, "top_k": 2}


def sent(model: FakeOpenAI) -> dict[str, Any]:
    """The latest request for an answer."""
    request: dict[str, Any] = model.chat_requests[-1].json
    return request


def test_model_gets_rules_context_and_question_in_order(visitor: Visitor) -> None:
    answer = visitor.post("/qa", json=ASKED).raise_for_status().json()
    rules, context, question = sent(visitor.model)["messages"]
    assert (rules["role"], context["role"], question["role"]) == ("system", "system", "user")
    assert context["content"].startswith("Context for answering the question:\n")
    assert question["content"] == QUESTION
    boundary = re.findall(r"<source-([0-9a-f]{16}) number", context["content"])
    assert len(boundary) == 2
    assert len(set(boundary)) == 1
    assert boundary[0] in rules["content"]
    for source in answer["sources"]:
        assert source["content_snippet"] in context["content"]
        assert source["content_snippet"] not in rules["content"]
    assert sent(visitor.model)["max_tokens"] == 1000


def test_method_configuration_decides_on_messages_and_tokens(visitor: Visitor) -> None:
    value = {**DEMO, "answer.prompt_layout": "two", "answer.max_tokens": 300}
    visitor.put("/config?method=qa", json={"value": value}).raise_for_status()
    visitor.post("/qa", json=ASKED).raise_for_status()
    assert [message["role"] for message in sent(visitor.model)["messages"]] == ["system", "user"]
    assert sent(visitor.model)["max_tokens"] == 300


# --- failures ---------------------------------------------------------------------------------------------


def test_failing_model_is_an_error_beside_the_retrieved_text(visitor: Visitor) -> None:
    visitor.model.chats.append(failure(401, "Wrong key: sk-of-a-visitor"))
    reply = visitor.post("/qa", json=ASKED)
    answer = reply.json()
    assert (reply.status_code, answer["question"], answer["answer"]) == (200, QUESTION, "")
    assert answer["retrieved_chunks_count"] == len(answer["sources"]) == 2
    assert "key" in answer["error"]
    assert "sk-of-a-visitor" not in reply.text
    assert visitor.get(f"/runs/{answer['run']}").json()["status"] == "failed"


def test_sources_without_an_answer_are_named_in_one(visitor: Visitor) -> None:
    visitor.model.chats.append(streamed("Not found in the sources."))
    answer = visitor.post("/qa", json=ASKED).json()
    assert (answer["answer"], answer["error"]) == ("Not found in context", None)
    assert answer["retrieved_chunks_count"] == 2


def of_operator(serve: Serve, model: FakeOpenAI, **more: Any) -> Api:
    return serve(base_url=model.base_url, openai_api_key=SecretStr("sk-operator"), chat_model=MODEL, **more)


def test_failed_search_is_an_error_beside_other_backends(serve: Serve, fake_openai: FakeOpenAI) -> None:
    api = of_operator(serve, fake_openai, searxng_url=f"http://127.0.0.1:{closed_port()}")
    reply = api.post("/qa", json=ASKED)
    answer = reply.json()
    assert (reply.status_code, answer["answer"], answer["sources"]) == (200, "", [])
    assert answer["retrieved_chunks_count"] == 0
    assert "SearXNG" in answer["error"]
    assert answer["alternatives"] == ["ddgs", "demo"]

    fake_openai.key = "sk-of-another"
    reply = api.post("/qa", json=ASKED)
    assert (reply.status_code, reply.json()["alternatives"]) == (503, ["ddgs", "demo"])
    assert reply.headers["content-type"] == "application/problem+json"
    assert "SearXNG" in reply.json()["detail"]


def test_a_quota_that_is_used_up_is_a_problem(serve: Serve) -> None:
    api = serve(runs_per_hour=1)
    api.put("/config", json={"value": DEMO}).raise_for_status()
    api.post("/qa", json=ASKED).raise_for_status()
    reply = api.post("/qa", json=ASKED)
    assert reply.status_code == 429
    assert int(reply.headers["Retry-After"]) > 0


# --- answers that are given again -------------------------------------------------------------------------


def test_same_question_over_same_sources_asks_no_model_again(visitor: Visitor) -> None:
    visitor.model.chats.extend([streamed(text) for text in ("First [1].", "Fresh [1].", "Of one [1].")])

    def asked(**more: Any) -> tuple[str, bool]:
        answer = visitor.post("/qa", json={**ASKED, **more}).raise_for_status().json()
        assert answer["sources"]
        return answer["answer"], answer["cached"]

    assert asked() == ("First [1].", False)
    assert asked() == ("First [1].", True)
    assert asked(fresh=True) == ("Fresh [1].", False)
    assert asked(top_k=1) == ("Of one [1].", False), "other sources"
    assert len(visitor.model.chat_requests) == 3


def test_other_settings_and_other_sessions_ask_their_model(api: Api, fake_openai: FakeOpenAI) -> None:
    first, second = api.session(fake_openai), api.session(fake_openai)
    for header in (first, second):
        assert not api.post("/qa", json=ASKED, headers=header).json()["cached"]
    api.put("/config?method=qa", json={"value": {**DEMO, "answer.length": "short"}}, headers=second)
    assert not api.post("/qa", json=ASKED, headers=second).json()["cached"]
    assert api.post("/qa", json=ASKED, headers=first).json()["cached"]
    assert len(fake_openai.chat_requests) == 3


def test_changed_document_is_not_answered_from_its_former_text(visitor: Visitor) -> None:
    body = {"question": "What does a windmill need?", **HERE}
    for text in (b"A windmill needs a miller.", b"A windmill needs a strong wind."):
        settled(visitor, {}, "notes.md", text)
        answer = visitor.post("/qa", json=body).json()
        assert (answer["sources"][0]["content_snippet"].encode(), answer["cached"]) == (text, False)
    assert visitor.post("/qa", json=body).json()["cached"]


def test_partial_answers_and_failures_are_not_reused(visitor: Visitor) -> None:
    visitor.model.chats.extend(
        [streamed("Half of it [1]. ", finish=None, done=False), failure(400), streamed("All of it [1].")]
    )
    answers = [visitor.post("/qa", json=ASKED).json() for _ in range(3)]
    assert [answer["answer"].strip() for answer in answers] == ["Half of it [1].", "", "All of it [1]."]
    assert not any(answer["cached"] for answer in answers)


def test_answers_are_not_reused_where_the_operator_forbids_it(serve: Serve, fake_openai: FakeOpenAI) -> None:
    api = of_operator(serve, fake_openai, answer_cache_seconds=0)
    api.put("/config", json={"value": DEMO}).raise_for_status()
    assert not any(api.post("/qa", json=ASKED).json()["cached"] for _ in range(2))
    assert len(fake_openai.chat_requests) == 2
