"""Everything that can break, broken: the run ends, keeps what it could get, and says which part it was.

The adapters' own tests look at each fault closely. Here each goes through a whole run.
"""

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from core.adapters.web.extraction_pool import ExtractionPool
from core.errors import StoreFailed
from core.run.state import RunStatus
from core.storage.run_store import RunStore
from tests.faults.models import CHAT, EMBED, PLAN
from tests.faults.search_and_pages import PAGES, SEARCH
from tests.faults.world import FaultCase, Site, World, check
from tests.services.openai_server import FakeOpenAI


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workers() -> AsyncIterator[ExtractionPool]:
    async with ExtractionPool(1) as workers:
        await workers.start()
        yield workers


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Site() as site, FakeOpenAI() as openai:
        openai.chat = "Kettles boil water [1]."
        yield World(site, openai, tmp_path / "cache.sqlite", site.url, openai.base_url, openai.base_url)


pytestmark = pytest.mark.spread

TABLE = {"search": SEARCH, "page": PAGES, "embed": EMBED, "answer": CHAT, "plan": PLAN}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "fault", [pytest.param(row, id=f"{part}: {row.name}") for part, rows in TABLE.items() for row in rows]
)
async def test_each_fault_ends_the_run_with_results_and_a_notice(
    fault: FaultCase, world: World, workers: ExtractionPool
) -> None:
    await check(fault, world, workers)


# --- cache and store --------------------------------------------------------------------------------------


def _garbage(path: Path) -> None:
    path.write_bytes(b"This is no database. " * 400)


def _folder(path: Path) -> None:
    path.mkdir()


def _older(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE entries (id TEXT, body TEXT)")
        database.execute("INSERT INTO entries VALUES ('pages', 'of an older version')")
        database.execute("PRAGMA user_version = 0")


def _newer(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE entries (id TEXT)")
        database.execute("PRAGMA user_version = 77")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("spoil", [_garbage, _folder, _older, _newer])
async def test_unusable_cache_costs_nothing_but_time(
    spoil: Callable[[Path], None], world: World, workers: ExtractionPool
) -> None:
    spoil(world.cache)
    first = await world.run(workers)
    again = await world.run(workers)
    assert (first.status, again.status) == (RunStatus.DONE, RunStatus.DONE)
    assert first.sources == again.sources
    if spoil not in (_folder, _newer):
        assert all(page.from_cache for page in again.pages.values()), "it healed"


@pytest.mark.asyncio(loop_scope="module")
async def test_spoilt_cache_entries_are_dropped_and_fetched_again(
    world: World, workers: ExtractionPool
) -> None:
    first = await world.run(workers)
    with sqlite3.connect(world.cache) as database:
        database.execute("UPDATE entries SET value = zeroblob(length(value) + 1)")
    second = await world.run(workers)
    third = await world.run(workers)
    assert [page.from_cache for page in second.pages.values()] == [False] * 3
    assert [page.from_cache for page in third.pages.values()] == [True] * 3
    assert first.sources == second.sources == third.sources


@pytest.mark.asyncio(loop_scope="module")
async def test_workers_that_cannot_start_are_replaced_by_a_thread(world: World) -> None:
    async with ExtractionPool(1, python="/bin/false") as workers:
        run = await world.run(workers)
        assert (run.status, len(run.pages)) == (RunStatus.DONE, 3)
        assert workers.fallback


def test_a_store_of_garbage_is_a_message(tmp_path: Path) -> None:
    _garbage(tmp_path / "runs.sqlite")
    store = RunStore(tmp_path / "runs.sqlite")
    assert "set aside" in store.problem
    assert store.history(5) == ()
    (aside,) = tmp_path.glob("runs.sqlite.damaged-*")
    assert aside.read_bytes().startswith(b"This is no database."), "left for its owner"
    store.close()


def test_an_event_that_cannot_be_read_names_the_store(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    with sqlite3.connect(tmp_path / "runs.sqlite") as database:
        database.execute("INSERT INTO records VALUES ('torn', 0, 0.0, x'7b')")
    with pytest.raises(StoreFailed) as caught:
        store.load("torn")
    assert caught.value.part == "store"
    assert caught.value.hint
    store.close()
