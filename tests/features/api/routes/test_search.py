"""`POST /search`: what Open WebUI asks of an external search engine."""

from typing import Any

import pytest

from tests.features.api.conftest import DEMO, QUESTION, Api

OPEN_WEBUI = {
    "User-Agent": "Open WebUI (https://github.com/open-webui/open-webui) RAG Bot",
    "Authorization": "Bearer none",
}
"""The headers of Open WebUI 0.12."""


@pytest.fixture
def demo(api: Api) -> Api:
    api.put("/config", json={"value": DEMO}).raise_for_status()
    return api


def _found(api: Api, **body: Any) -> list[dict[str, Any]]:
    reply = api.post("/search", json=body, headers=OPEN_WEBUI)
    assert reply.status_code == 200, reply.text
    pages: list[dict[str, Any]] = reply.json()
    return pages


def test_pages_come_with_passages_that_answer_and_without_an_answer(demo: Api) -> None:
    pages = _found(demo, query=QUESTION, count=3)
    assert len(pages) == len({page["link"] for page in pages}) == 3
    assert all(page.keys() == {"link", "title", "snippet"} and page["title"] for page in pages)
    assert "overlap" in pages[0]["snippet"]
    assert len(pages[0]["snippet"]) <= 2000
    (line,) = demo.get("/runs?limit=1").json()["runs"]
    assert line["question"] == QUESTION
    assert not demo.get(f"/runs/{line['id']}").json()["answer"]


def test_more_pages_than_there_may_be_and_foreign_fields_are_no_fault(demo: Api) -> None:
    few = _found(demo, query=QUESTION, count=1)
    many = _found(demo, query=QUESTION, count=500, user={"id": "1"})
    assert few == many[:1]
    assert 1 < len(many) <= 20


def test_a_search_that_finds_nothing_is_an_empty_list(demo: Api) -> None:
    assert _found(demo, query="zzqx") == []


def test_a_search_that_fails_says_what_to_do(api: Api) -> None:
    missing = {"search.origin": "library", "search.collections": ["missing"]}
    api.put("/config", json={"value": missing}).raise_for_status()
    reply = api.post("/search", json={"query": QUESTION})
    assert reply.status_code == 502
    assert reply.json()["hint"]


def test_a_query_without_words_is_refused(demo: Api) -> None:
    reply = demo.post("/search", json={"query": " ", "count": 3})
    assert reply.status_code == 422
    assert reply.json()["errors"][0]["field"] == "query"
