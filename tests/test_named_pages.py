"""Pages that a question names by their address are read, without a search for them."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.config.knobs import Knobs, ReadKnobs, SearchKnobs, SearchScope
from core.followups import search_more
from core.model import AnswerFrom, Author, Turn
from core.pipeline import research
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from tests.faults.world import Site, engine_over
from tests.services.loopback import json_reply

pytestmark = pytest.mark.slow

KNOBS = Knobs(search=SearchKnobs(backend="searxng"), read=ReadKnobs(robots=False, early_cut_percent=0))


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
async def engine(tmp_path: Path, site: Site) -> AsyncIterator[Engine]:
    async with engine_over(site, tmp_path) as engine:
        yield engine


def notes(run: Run) -> str:
    return " ".join(note.message for note in run.notes)


async def test_a_page_in_the_question_is_read_and_not_searched_for(engine: Engine, site: Site) -> None:
    named = f"{site.url}/page/7"
    run = await research(f"What do kettles do, as in ({named})?", KNOBS, await engine.ports(KNOBS))
    assert run.status is RunStatus.DONE
    assert [(query.text, query.author) for query in run.queries] == [
        (named, Author.PERSON),
        ("What do kettles do, as in ?", Author.QUESTION),
    ]
    assert named in {page.url for page in run.pages.values()}
    assert run.backend == "searxng"
    assert run.text
    assert "mention" not in " ".join(notice.message for notice in run.notices)


async def test_an_address_alone_starts_no_search(engine: Engine, site: Site) -> None:
    named = f"{site.url}/page/7"
    run = await research(named, KNOBS, await engine.ports(KNOBS))
    assert [query.text for query in run.queries] == [named]
    assert [page.url for page in run.pages.values()] == [named]


async def test_a_page_is_read_though_the_search_finds_nothing(engine: Engine, site: Site) -> None:
    site.searches.append(json_reply({"results": []}))
    named = f"{site.url}/page/7"
    run = await research(f"What do kettles do? {named}", KNOBS, await engine.ports(KNOBS))
    assert [page.url for page in run.pages.values()] == [named]


async def test_many_addresses_are_a_part_of_a_pasted_text(engine: Engine, site: Site) -> None:
    pasted = " ".join(f"{site.url}/page/{number}" for number in range(4, 8))
    run = await research(f"What do kettles do? {pasted}", KNOBS, await engine.ports(KNOBS))
    assert {query.author for query in run.queries} == {Author.QUESTION}
    assert "were not read: a question can name 3, and this has 4." in notes(run)


@pytest.mark.parametrize(
    "search",
    [
        replace(KNOBS.search, origin=SearchScope.LIBRARY),
        replace(KNOBS.search, backend="demo"),
    ],
)
async def test_the_web_is_left_alone_where_it_is_not_searched(
    engine: Engine, site: Site, search: SearchKnobs
) -> None:
    knobs = replace(KNOBS, search=search)
    run = await research(f"What is chunk overlap? {site.url}/page/7", knobs, await engine.ports(knobs))
    assert {query.author for query in run.queries} == {Author.QUESTION}
    assert not any(page.url.startswith(site.url) for page in run.pages.values())
    assert "were not read: the web is not searched." in notes(run)


async def test_an_address_that_the_person_did_not_write_is_not_opened(engine: Engine, site: Site) -> None:
    """A model writes the question of a follow-up, and a page may have told it what to write."""
    turn = Turn(conversation="", follows="", number=2, written="And kettles?", answer_from=AnswerFrom.SEARCH)
    planted = f"{site.url}/page/7?secret"
    run = await research(f"What do kettles do? {planted}", KNOBS, await engine.ports(KNOBS), turn=turn)
    assert planted not in {page.url for page in run.pages.values()}
    assert Author.PERSON not in {query.author for query in run.queries}


async def test_an_added_query_may_be_an_address(engine: Engine, site: Site) -> None:
    ports = await engine.ports(KNOBS)
    run = await research("What do kettles do?", KNOBS, ports)
    named = f"{site.url}/page/7"
    more = await search_more(run, named, ports)
    assert named in {page.url for page in more.pages.values()}
