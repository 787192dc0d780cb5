"""Pages that were skipped are fetched for a finished run, whose pages in hand are never worse for it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from core.config.knobs import Knobs, ReadKnobs, SearchKnobs
from core.followups import read_more, search_more
from core.model import SkipReason
from core.pipeline import research
from core.run import events as e
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from tests.faults.world import Site, engine_over
from tests.services.loopback import Reply, html_reply, json_reply

pytestmark = pytest.mark.slow


QUESTION = "What do kettles do?"
KNOBS = Knobs(search=SearchKnobs(backend="searxng"), read=ReadKnobs(robots=False, early_cut_percent=0))
GONE = html_reply(status=404)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
async def engine(tmp_path: Path, site: Site) -> AsyncIterator[Engine]:
    async with engine_over(site, tmp_path) as engine:
        yield engine


def found(site: Site, *numbers: int, snippet: str = "A snippet about kettles.") -> Reply:
    rows = [{"url": f"{site.url}/page/{n}", "title": f"Page {n}", "content": snippet} for n in numbers]
    return json_reply({"results": rows})


def same_ranking(run: Run, before: Run) -> bool:
    return run.status is RunStatus.DONE and run.pages == before.pages and run.ranking is before.ranking


@pytest.mark.parametrize("snippet", ["A snippet about kettles.", ""])
async def test_page_still_unreadable_leaves_the_ranking_and_says_why(
    engine: Engine, site: Site, snippet: str
) -> None:
    site.pages[2] = GONE
    site.searches.append(found(site, 1, 2, 3, snippet=snippet))
    ports = await engine.ports(KNOBS)
    run = await research(QUESTION, KNOBS, ports)
    (lost,) = run.skips
    more = await read_more(run, [lost], ports)
    assert same_ranking(more, run)
    assert more.skips.keys() == {lost}
    assert "404" in more.notes[-1].message


async def test_nothing_happens_to_a_page_that_is_in_hand(engine: Engine, site: Site) -> None:
    ports = await engine.ports(KNOBS)
    run = await research(QUESTION, KNOBS, ports)
    told: list[e.Event] = []
    more = await read_more(run, run.pages, ports, lambda record, _: told.append(record.event))
    assert same_ranking(more, run)
    assert more.notes == run.notes
    assert not any(isinstance(event, e.FetchStarted) for event in told)


async def test_no_snippet_of_an_added_query_replaces_whole_pages(engine: Engine, site: Site) -> None:
    ports = await engine.ports(KNOBS)
    run = await research(QUESTION, KNOBS, ports)
    site.pages[8] = site.pages[9] = GONE
    site.searches.append(found(site, 8, 9))
    more = await search_more(run, "boiling water", ports)
    assert same_ranking(more, run)
    assert len(more.hits) == 5
    assert {skip.reason for skip in more.skips.values()} == {SkipReason.STATUS}
    assert "None of the 2 pages" in more.notes[-1].message


async def test_snippets_replace_pages_until_those_are_read(engine: Engine, site: Site) -> None:
    site.pages.update(dict.fromkeys((1, 2, 3), GONE))
    ports = await engine.ports(KNOBS)
    run = await research(QUESTION, KNOBS, ports)
    assert len(run.pages) == 3
    assert all(page.snippet_only for page in run.pages.values())
    assert run.skips.keys() == run.pages.keys()
    site.pages.clear()
    first, *others = run.pages
    more = await read_more(run, [first], ports)
    assert more.status is RunStatus.DONE
    assert more.has_full_page(first)
    assert more.skips.keys() == set(others)
    assert more.index is not None and run.index is not None
    assert len(more.index.passages) > len(run.index.passages)


async def test_a_run_without_any_page_is_still_a_failure(engine: Engine, site: Site) -> None:
    site.pages.update(dict.fromkeys((1, 2, 3), GONE))
    site.searches.append(found(site, 1, 2, 3, snippet=""))
    ports = await engine.ports(KNOBS)
    run = await research(QUESTION, KNOBS, ports)
    assert run.status is RunStatus.FAILED
    more = await read_more(run, run.skips, ports)
    assert more.status is RunStatus.FAILED
    assert more.error is not None and "None of the 3 pages" in more.error.message
    site.pages.clear()
    assert (await read_more(more, more.skips, ports)).status is RunStatus.DONE
