"""A query that a person adds by hand: only that one is searched, and only its new pages are read."""

import time

import pytest

from core.config.knobs import Knobs, SearchKnobs
from core.errors import BadInput
from core.followups import search_more
from core.model import Author
from core.pipeline import research
from core.run import events as e
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from core.runtime.registry import RunRegistry

pytestmark = pytest.mark.slow


QUESTION = "How does chunk overlap affect retrieval?"
DEMO = Knobs(search=SearchKnobs(backend="demo", results=3))


async def test_only_new_queries_are_searched_and_new_pages_read(engine: Engine) -> None:
    ports = await engine.ports(DEMO)
    run = await research(QUESTION, DEMO, ports)
    told: list[e.Event] = []
    more = await search_more(
        run, " robots and  crawling ", ports, lambda record, _: told.append(record.event)
    )
    searched = [event.query for event in told if isinstance(event, e.SearchStarted)]
    assert [(query.text, query.author) for query in searched] == [("robots and crawling", Author.PERSON)]
    fetched = {event.key for event in told if isinstance(event, e.FetchStarted)}
    assert fetched
    assert fetched.isdisjoint(run.pages)
    assert set(more.pages) == set(run.pages) | fetched
    assert more.status is RunStatus.DONE
    assert more.index is not None and more.ranking is not None and run.index is not None
    assert len(more.index.passages) > len(run.index.passages)
    assert more.answer == run.answer, "the answer stays until another is asked for"
    assert any(found.query == "robots and crawling" for hit in more.hits for found in hit.found)


async def test_query_that_finds_nothing_new_only_says_so(engine: Engine) -> None:
    ports = await engine.ports(DEMO)
    run = await research(QUESTION, DEMO, ports)
    for text in ("how does chunk overlap affect retrieval", "zxqv wvut"):
        more = await search_more(run, text, ports)
        assert more.status is RunStatus.DONE
        assert more.pages == run.pages
        assert more.ranking is run.ranking
        assert any(text in notice.message for notice in more.notices)


@pytest.mark.parametrize("text", ["", " \n ", "x" * 401, QUESTION.upper()])
async def test_query_that_cannot_be_added_is_refused_with_advice(engine: Engine, text: str) -> None:
    ports = await engine.ports(DEMO)
    run = await research(QUESTION, DEMO, ports)
    with pytest.raises(BadInput) as refused:
        await search_more(run, text, ports)
    assert refused.value.hint


def test_query_is_added_to_a_finished_run_and_remembered(runs: RunRegistry) -> None:
    run_id = runs.start(QUESTION, DEMO)
    _until(runs, run_id, queries=1)
    runs.search_more(run_id, "robots and crawling")
    run = _until(runs, run_id, queries=2)
    assert [query.author for query in run.queries] == [Author.QUESTION, Author.PERSON]
    runs.store.flush()
    stored = runs.store.load(run_id)
    assert stored is not None
    assert stored.queries == run.queries
    with pytest.raises(BadInput):
        runs.search_more(run_id, "Robots and crawling")
    assert _until(runs, run_id, queries=2).status is RunStatus.DONE


def _until(runs: RunRegistry, run_id: str, *, queries: int) -> Run:
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        run = runs.get(run_id)
        if run is not None and not run.live and len(run.queries) == queries:
            return run
        time.sleep(0.01)
    raise AssertionError("it never ended")
