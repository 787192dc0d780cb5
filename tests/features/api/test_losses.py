"""What was lost on the way to an answer is told by every endpoint, over HTTP, and by the run once it is stored."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from core.run.state import Run
from tests.features.api.conftest import DEMO, QUESTION, Api, Serve
from tests.features.api.routes.test_session_files import settled
from tests.services.loopback import Gate, Loopback, Reply, Request, json_reply
from tests.services.openai_server import EMBEDDER, MODEL, FakeOpenAI, failure, streamed

pytestmark = pytest.mark.slow

QUERIES = "chunk overlap\nchunk size\npassage boundaries"
ANSWER = "Overlap keeps facts whole [1]."


class PartialSearch(Loopback):
    """A SearXNG without pages that can be read: the query `chunk size` fails, the others find snippets."""

    def __init__(self) -> None:
        super().__init__(self._reply)

    async def _reply(self, request: Request) -> Reply:
        if request.query.get("q") == "chunk size":
            return json_reply({}, status=500)
        snippet = "Chunk overlap keeps facts whole that straddle a boundary of two passages."
        return json_reply({"results": [{"url": f"{self.url}/1", "title": "Overlap", "content": snippet}]})


@pytest.fixture
def lossy(serve: Serve, fake_openai: FakeOpenAI) -> Iterator[Api]:
    """A service whose second search of three fails."""
    with PartialSearch() as search:
        yield serve(searxng_url=search.url, base_url=fake_openai.base_url, chat_model=MODEL)


def scripted(model: FakeOpenAI) -> None:
    model.chats.extend([streamed(QUERIES), streamed(ANSWER)])


def warned(notes: list[str], *words: str) -> bool:
    return any(note.startswith("Warning: ") and all(word in note for word in words) for note in notes)


def test_one_failed_search_of_three_is_a_warning_in_every_form(lossy: Api, fake_openai: FakeOpenAI) -> None:
    scripted(fake_openai)
    body = {"question": QUESTION, "knobs": {"plan": {"queries": 3}}}
    short = lossy.post("/research", json=body).json()
    notes = short["notes"]
    assert warned(notes, "Search failed for query 'chunk size'", "HTTP 500")
    assert warned(notes, "1 of 1 search result was not read")
    assert lossy.get(f"/runs/{short['id']}").json()["notes"] == notes
    assert lossy.get(f"/runs/{short['id']}?form=agent").json()["notes"] == notes
    full = lossy.get(f"/runs/{short['id']}?form=full").json()["notices"]
    assert [row["message"] for row in full if row["severity"] == "warning"]
    lossy.runs.store.flush()
    stored = lossy.runs.store.load(short["id"])
    assert isinstance(stored, Run)
    assert list(map(str, stored.notices)) == notes


def test_streams_end_with_the_warnings(lossy: Api, fake_openai: FakeOpenAI) -> None:
    scripted(fake_openai)
    body: dict[str, Any] = {"question": QUESTION, "knobs": {"plan": {"queries": 3}}}
    events = lossy.post("/research", json=body, headers={"Accept": "text/event-stream"}).text
    result = json.loads(events.partition("event: result\n")[2].partition("data: ")[2])
    assert warned(result["notes"], "Search failed for query 'chunk size'")

    scripted(fake_openai)
    message = {"role": "user", "content": QUESTION}
    body = {"model": "openquery", "messages": [message], "stream": True}
    pieces = lossy.post("/v1/chat/completions", json=body).text.split("\n\n")
    last = json.loads(pieces[-3].removeprefix("data: "))
    assert warned(last["notes"], "Search failed for query 'chunk size'")


@pytest.mark.parametrize("out_of_time", [False, True], ids=["refused", "out of time"])
def test_passages_without_a_vector_are_counted_in_a_warning(
    serve: Serve, fake_openai: FakeOpenAI, out_of_time: bool
) -> None:
    gate = Gate()
    failures = [Reply((gate, b"{}")) if out_of_time else failure(400) for _ in range(100)]
    fake_openai.embeddings.extend([None, None, *failures])
    api = serve(base_url=fake_openai.base_url, chat_model=MODEL, embedding_model=EMBEDDER, query_seconds=6)
    config = {**DEMO, "embed.batch": 8, "embed.in_flight": 1}
    api.put("/config", json={"value": config}).raise_for_status()
    reply = api.post("/query", json={"query": QUESTION, "similarity_threshold": 0})
    gate.open()
    assert reply.status_code == 200, reply.text
    why = "when its time was over" if out_of_time else "400"
    assert warned(reply.json()["notes"], "passages are not ranked, for lack of a vector", why)


def test_failed_web_search_beside_a_collection_is_a_warning(serve: Serve) -> None:
    api = serve(searxng_url="http://127.0.0.1:9")
    header = api.connect()
    settled(api, header, "mills.md", b"Tide mills store the flood in a pond behind a gate and grind at ebb.")
    body = {"question": "How do tide mills work?", "origin": "both", "collections": ["session"]}
    answer = api.post("/qa", json=body, headers=header).json()
    assert answer["sources"], answer
    assert warned(
        answer["notes"], "Not searched: web (SearXNG at http://127.0.0.1:9 did not answer: could not connect"
    )


def test_a_missing_collection_beside_another_is_a_warning(serve: Serve) -> None:
    api = serve()
    header = api.connect()
    settled(api, header, "mills.md", b"Tide mills store the flood in a pond behind a gate and grind at ebb.")
    body = {"question": "How do tide mills work?", "origin": "library", "collections": ["session", "nowhere"]}
    answer = api.post("/qa", json=body, headers=header).json()
    assert answer["sources"], answer
    assert warned(answer["notes"], "Not searched: nowhere (There is no collection")
