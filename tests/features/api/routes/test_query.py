"""`POST /query`: the form of its chunks, and the time that it takes at most."""

from collections.abc import Iterator
from datetime import datetime

import pytest

from core.config.settings import Settings
from tests.features.api.conftest import DEMO, QUESTION, Api, Visitor, serving, settings
from tests.features.api.routes.test_session_files import HERE, settled
from tests.services.loopback import Gate, Loopback, Reply, Request, html_reply, json_reply
from tests.services.openai_server import FakeOpenAI, failure, streamed

pytestmark = pytest.mark.slow

SECONDS = 4


def test_chunks_have_at_least_ten_characters(api: Api) -> None:
    header = api.connect()
    settled(api, header, "short.md", b"Mills: 42")
    settled(api, header, "long.md", b"Mills: 421")
    body = {"query": "How many mills are there?", "similarity_threshold": 0, **HERE}
    answer = api.post("/query", json=body, headers=header).json()
    assert [chunk["content"] for chunk in answer["retrieved_chunks"]] == ["Mills: 421"]
    assert [chunk["truncated"] for chunk in answer["retrieved_chunks"]] == [False]


def test_longer_content_is_cut_and_marked(api: Api) -> None:
    api.put("/config?method=query", json={"value": {**DEMO, "chunk.size": 3000}}).raise_for_status()
    chunks = api.post("/query", json={"query": QUESTION, "similarity_threshold": 0.3}).json()[
        "retrieved_chunks"
    ]
    cut = [chunk for chunk in chunks if chunk["truncated"]]
    assert cut
    assert all(len(chunk["content"]) <= 1000 and chunk["content"].endswith("…") for chunk in cut)


def test_the_time_of_the_reply_is_in_iso_8601(api: Api) -> None:
    answer = api.post(
        "/query", json={"query": "Who won the cup in 1966?", "similarity_threshold": 0.9}
    ).json()
    assert datetime.fromisoformat(answer["timestamp"]).tzinfo
    assert answer["answer"] == "Not found in context"


# --- time -------------------------------------------------------------------------------------------------


def test_refusing_model_is_a_problem_that_names_the_run(visitor: Visitor) -> None:
    visitor.model.chats.append(failure(401, "Wrong key: sk-of-a-visitor"))
    reply = visitor.post("/query", json={"query": QUESTION})
    problem = reply.json()
    assert reply.status_code == problem["status"] == 502
    assert problem["hint"]
    assert "sk-of-a-visitor" not in reply.text
    assert visitor.get(f"/runs/{problem['run']}").json()["sources"]


def test_query_takes_five_seconds_at_most_unless_configured() -> None:
    assert Settings.model_fields["query_seconds"].default == 5


class SlowWeb(Loopback):
    """A SearXNG and its pages; a page called `slow`, and a search for it, never come."""

    def __init__(self) -> None:
        super().__init__(self._reply)

    async def _reply(self, request: Request) -> Reply:
        never = Reply((b"<p>", Gate()), content_type="text/html")
        if request.path == "/search":
            hits = [
                {"url": f"{self.url}/{name}", "title": name, "content": name} for name in ("quick", "slow")
            ]
            results = json_reply({"query": "", "results": hits, "unresponsive_engines": []})
            return never if "slow" in request.query["q"] else results
        if request.path == "/quick":
            return html_reply(
                f"<article><h1>Overlap</h1><p>{'Chunk overlap affects retrieval. ' * 20}</p></article>"
            )
        return never if request.path == "/slow" else Reply((b"",), status=404)


@pytest.fixture(scope="module")
def slow_web() -> Iterator[SlowWeb]:
    with SlowWeb() as web:
        yield web


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory, slow_web: SlowWeb) -> Iterator[Api]:
    """A service that answers within a few seconds, and has started what its first answer needs."""
    folder = tmp_path_factory.mktemp("hurried")
    allowed = f"127.0.0.1:{slow_web.port}"
    with serving(
        settings(folder, searxng_url=slow_web.url, fetch_allowlist=allowed, query_seconds=SECONDS)
    ) as api:
        warm = {"question": QUESTION, "knobs": {"search": {"backend": "demo"}}}
        api.post("/research", json=warm).raise_for_status()
        yield api


def test_pages_that_came_in_time_are_ranked(hurried: Api, slow_web: SlowWeb) -> None:
    answer = hurried.post("/query", json={"query": QUESTION}).raise_for_status().json()
    assert answer["sources"] == [f"{slow_web.url}/quick"]
    assert "Chunk overlap" in answer["answer"]
    assert any(f"within {SECONDS} s" in note for note in answer["notes"])


def test_text_written_in_time_is_the_answer(hurried: Api, fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.append(streamed("Half of it [1]. ", Gate(), "The rest."))
    header = hurried.session(fake_openai)
    answer = hurried.post("/query", json={"query": QUESTION}, headers=header).raise_for_status().json()
    assert answer["answer"].strip() == "Half of it [1]."
    assert answer["retrieved_chunks"]
    assert any("cut off" in note for note in answer["notes"])


def test_search_without_a_reply_in_time_is_a_problem(hurried: Api) -> None:
    reply = hurried.post("/query", json={"query": "a slow one"})
    assert reply.status_code == 502
    assert f"within {SECONDS} s" in reply.json()["detail"]
    assert reply.json()["alternatives"] == ["ddgs", "demo"]
