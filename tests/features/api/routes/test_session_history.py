"""The messages of a session are the history of its later questions."""

from typing import Any

import pytest

from core.features.api.sessions import Session
from tests.features.api.conftest import QUESTION, Api, Visitor
from tests.services.openai_server import streamed

pytestmark = pytest.mark.slow

WRITTEN = "And how large should it be?"
STANDALONE = "How large should the overlap of chunks be?"


@pytest.fixture
def asked(visitor: Visitor) -> Visitor:
    """In whose session a question was answered."""
    visitor.model.chats.append(streamed("Overlap keeps facts whole [1]."))
    visitor.post("/research", json={"question": QUESTION}).raise_for_status()
    visitor.model.chats.extend([streamed(STANDALONE), streamed("A tenth [1].")])
    return visitor


def full(api: Api, run_id: str) -> dict[str, Any]:
    run: dict[str, Any] = api.get(f"/runs/{run_id}?form=full").json()
    return run


@pytest.mark.parametrize(
    ("path", "field", "echo", "answer"),
    [
        ("/qa", "question", "question", "answer"),
        ("/query", "query", "query", "answer"),
        ("/research", "question", "written", "answer"),
        ("/research/query", "user_query", "query", "content"),
    ],
)
def test_a_question_is_understood_by_those_before_it(
    path: str, field: str, echo: str, answer: str, asked: Visitor
) -> None:
    reply = asked.post(path, json={field: WRITTEN}).json()
    assert (reply[echo], reply[answer]) == (WRITTEN, "A tenth [1].")
    assert any(STANDALONE in note and "from the pages in hand" in note for note in reply["notes"])
    first, _, _, last = asked.get("/session").json()["messages"]
    run = full(asked, last["run"])
    assert (run["question"], run["turn"]["follows"]) == (STANDALONE, first["run"])
    assert [query["author"] for query in run["queries"]] == ["conversation"]


@pytest.mark.parametrize(
    ("path", "field", "sources"), [("/qa", "question", "sources"), ("/query", "query", "retrieved_chunks")]
)
def test_follow_up_marks_are_numbers_of_its_sources(
    path: str, field: str, sources: str, asked: Visitor
) -> None:
    first = asked.get("/session").json()["messages"][-1]["run"]
    taken = {source["number"] for source in full(asked, first)["sources"]}
    body = {field: WRITTEN, "answer_from": "search"}
    reply = asked.post(path, json=body).json()
    run = full(asked, reply["run"])
    numbers = [source["number"] for source in reply[sources]]
    assert numbers == [source["number"] for source in run["sources"]]
    assert max(numbers) > max(taken), "new passages get the numbers after those in use"


def test_caller_may_search_the_web_again_or_fetched_pages_only(asked: Visitor) -> None:
    body = {"question": WRITTEN, "answer_from": "search"}
    run = asked.post("/research", json=body).json()
    assert run["queries"] == [STANDALONE]
    asked.model.chats.append(streamed("Who discovered the moons of Jupiter?"))
    body = {"question": "Who discovered its moons?", "answer_from": "pages"}
    run = asked.post("/research", json=body).json()
    assert full(asked, run["id"])["turn"]["answer_from"] == "pages"


def test_search_scope_of_a_request_holds_for_a_follow_up(asked: Visitor) -> None:
    run = asked.post("/research", json={"question": WRITTEN, "queries": ["overlap of passages"]}).json()
    assert run["queries"] == ["pages of earlier questions", "overlap of passages"]
    asked.model.chats.append(streamed(STANDALONE))
    reply = asked.post("/qa", json={"question": WRITTEN, "origin": "both"}).json()
    assert full(asked, reply["run"])["turn"]["answer_from"] == "search"


def test_a_question_that_is_repeated_is_the_same_question(asked: Visitor) -> None:
    asked.model.chats.clear()
    reply = asked.post("/research", json={"question": QUESTION}).json()
    assert (reply["question"], reply["conversation"]) == (QUESTION, reply["id"])


def test_deleted_run_is_not_searched_but_its_question_gives_context(asked: Visitor) -> None:
    run_id = asked.get("/session").json()["messages"][0]["run"]
    asked.delete(f"/runs/{run_id}").raise_for_status()
    run = asked.post("/research", json={"question": WRITTEN}).json()
    assert run["question"] == STANDALONE
    assert full(asked, run["id"])["turn"]["answer_from"] == "search"


def test_those_without_a_session_are_asked_nothing_about_before(api: Api) -> None:
    api.post("/qa", json={"question": QUESTION}).raise_for_status()
    run = api.post("/research", json={"question": WRITTEN}).json()
    assert run["question"] == run["written"] == WRITTEN
    assert not Session(keeps_messages=False).history


def test_a_method_is_a_field_of_research(visitor: Visitor) -> None:
    run = visitor.post("/research", json={"question": QUESTION, "method": "pipeline"}).json()
    assert run["knobs"]["run"]["method"] == "pipeline"
    reply = visitor.post("/research", json={"question": QUESTION, "method": "guess"})
    assert [fault["field"] for fault in reply.json()["errors"]] == ["method"]


def test_a_conversation_leaves_as_json_and_as_markdown(asked: Visitor) -> None:
    run = asked.post("/research", json={"question": WRITTEN}).json()
    value = asked.get(f"/runs/{run['id']}?form=conversation").json()
    assert [(turn["written"], turn["answer"]) for turn in value["turns"]] == [
        (QUESTION, "Overlap keeps facts whole [1]."),
        (WRITTEN, "A tenth [1]."),
    ]
    assert value["conversation"] == value["turns"][0]["run"] == run["conversation"]
    document = asked.get(f"/runs/{run['id']}?form=conversation_markdown")
    assert document.headers["content-type"] == "text/markdown; charset=utf-8"
    assert f"## 2. {WRITTEN}" in document.text and "A tenth [[1]](#source-1)." in document.text


@pytest.mark.parametrize("path", ["/qa", "/query", "/research"])
def test_fetched_pages_only_conflicts_with_a_session_without_pages(path: str, visitor: Visitor) -> None:
    body = {"query" if path == "/query" else "question": QUESTION}
    reply = visitor.post(path, json=body | {"answer_from": "pages"})
    assert (reply.status_code, reply.json()["detail"]) == (409, "There are no pages in hand.")
