"""The embedded database as files and processes: killed, shared, damaged, moved away below it."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from core.errors import LibraryFailed
from core.features.library.qdrant.edge_collections import EdgeCollections
from tests.features.library.qdrant.put_until_killed import NAME, TOGETHER, WIDTH, batch, vectors

ROOT = Path(__file__).parents[4]


def inside(folder: Path) -> list[str]:
    """What stands there, beside the locks."""
    return sorted(path.name for path in folder.iterdir() if path.name != ".locks")


async def filled(folder: Path, batches: int = 1, *, idle: float = 60.0) -> EdgeCollections:
    """A folder with so many batches in one collection, still open."""
    shelf = EdgeCollections(folder, idle=idle)
    await shelf.create(NAME, WIDTH)
    for number in range(batches):
        await shelf.put(NAME, batch(number), vectors(number))
    return shelf


async def assert_whole(shelf: EdgeCollections, least: int) -> None:
    """Everything confirmed is there, can be read and is found."""
    count = (await shelf.about(NAME)).passages
    assert count >= least
    for number in range(least // TOGETHER):
        passages = batch(number)
        assert await shelf.get(NAME, [passage.id for passage in passages]) == tuple(passages)
    (first,) = await shelf.nearest(NAME, vectors(0)[7], 1)
    assert first.passage == batch(0)[7]
    assert sum(document.passages for document in await shelf.documents(NAME)) == count
    await shelf.put(NAME, batch(0), vectors(0))
    assert (await shelf.about(NAME)).passages == count


async def test_what_was_put_is_there_after_a_restart(tmp_path: Path) -> None:
    shelf = await filled(tmp_path)
    before = await shelf.nearest(NAME, vectors(0)[3], 5)
    await shelf.aclose()
    again = EdgeCollections(tmp_path)
    after = await again.nearest(NAME, vectors(0)[3], 5)
    assert [(neighbour.passage, neighbour.score) for neighbour in after] == [
        (neighbour.passage, neighbour.score) for neighbour in before
    ]
    assert all(
        np.array_equal(neighbour.vector, two.vector) for neighbour, two in zip(after, before, strict=True)
    )
    await again.aclose()


async def test_killing_its_process_during_a_put_loses_nothing_confirmed(tmp_path: Path) -> None:
    shelf = await filled(tmp_path, 2)
    confirmed = 2

    async def put_on() -> None:
        nonlocal confirmed
        while True:
            await shelf.put(NAME, batch(confirmed), vectors(confirmed))
            confirmed += 1

    putting = asyncio.create_task(put_on())
    while confirmed < 5:
        await asyncio.sleep(0)
    assert shelf.pid
    os.kill(shelf.pid, signal.SIGKILL)
    with pytest.raises(LibraryFailed, match="has ended") as failed:
        await putting
    assert failed.value.hint
    await assert_whole(shelf, confirmed * TOGETHER)
    await shelf.aclose()


async def test_killing_openquery_during_a_put_loses_nothing_confirmed(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.features.library.qdrant.put_until_killed", str(tmp_path)),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdout
    confirmed = [await process.stdout.readline() for _ in range(5)][-1]
    process.kill()
    await process.wait()
    shelf = EdgeCollections(tmp_path)
    await assert_whole(shelf, int(confirmed))
    await shelf.aclose()


async def test_second_process_learns_the_owner_and_gets_it_afterwards(tmp_path: Path) -> None:
    first = await filled(tmp_path)
    second = EdgeCollections(tmp_path, lock_timeout=0.1)
    assert await second.names() == (NAME,)
    for request in (
        lambda: second.about(NAME),
        lambda: second.nearest(NAME, vectors(0)[0], 3),
        lambda: second.put(NAME, batch(1), vectors(1)),
        lambda: second.drop(NAME),
    ):
        with pytest.raises(LibraryFailed, match="Another process has") as failed:
            await request()
        assert "QDRANT_URL" in failed.value.hint
    await second.create("another", WIDTH)
    await second.put("another", batch(0), vectors(0))
    assert await first.names() == ("another", NAME)
    await first.aclose()
    await assert_whole(second, TOGETHER)
    await second.aclose()


async def test_waiting_for_one_collection_blocks_no_other(tmp_path: Path) -> None:
    first = await filled(tmp_path)
    second = EdgeCollections(tmp_path, lock_timeout=20)
    await second.create("another", WIDTH)
    waiting = asyncio.create_task(second.about(NAME))
    await asyncio.sleep(0)
    assert (await second.about("another")).passages == 0
    with pytest.raises(LibraryFailed, match="Another process has"):
        await second.about(NAME, wait=False)
    assert not waiting.done()
    await first.aclose()
    assert (await waiting).passages == TOGETHER
    await second.aclose()


async def test_an_idle_collection_is_closed(tmp_path: Path) -> None:
    first = await filled(tmp_path, idle=0.05)
    second = EdgeCollections(tmp_path, idle=0.05, lock_timeout=20)
    for shelf in (second, first, second):
        await assert_whole(shelf, TOGETHER)
    await asyncio.gather(first.aclose(), second.aclose())


async def test_two_processes_making_one_collection_make_one(tmp_path: Path) -> None:
    shelves = [EdgeCollections(tmp_path, idle=0.05, lock_timeout=20) for _ in range(3)]
    await asyncio.gather(*(shelf.create(NAME, WIDTH) for shelf in shelves))
    assert await shelves[0].names() == (NAME,)
    assert inside(tmp_path) == [NAME]
    with pytest.raises(LibraryFailed, match="64 dimensions"):
        await shelves[1].create(NAME, 32)
    await asyncio.gather(*(shelf.aclose() for shelf in shelves))


async def test_a_damaged_collection_is_named_and_can_be_deleted(tmp_path: Path) -> None:
    await (await filled(tmp_path)).aclose()
    config = tmp_path / NAME / "edge_config.json"
    config.write_text("{nonsense")
    shelf = EdgeCollections(tmp_path)
    assert await shelf.names() == (NAME,)
    with pytest.raises(LibraryFailed, match=f"The collection {NAME} cannot be used") as failed:
        await shelf.about(NAME)
    assert failed.value.hint
    await shelf.drop(NAME)
    assert inside(tmp_path) == []
    await shelf.aclose()


async def test_a_folder_that_cannot_be_one_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    shelf = EdgeCollections(tmp_path / "file" / "library")
    with pytest.raises(LibraryFailed, match="cannot be opened") as failed:
        await shelf.create(NAME, WIDTH)
    assert "OPENQUERY_DATA" in failed.value.hint
    assert await shelf.names() == ()
    await shelf.aclose()


async def test_nothing_is_written_outside_and_leftovers_are_no_collections(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    (folder / ".dropped-1").mkdir(parents=True)
    (folder / ".dropped-1" / "edge_config.json").write_text("{}")
    (folder / "notes").mkdir()
    shelf = await filled(folder)
    assert await shelf.names() == (NAME,)
    await shelf.aclose()
    assert inside(folder) == [NAME, "notes"]
    assert inside(tmp_path) == ["library"]


async def test_closing_ends_the_process_and_asking_starts_another(tmp_path: Path) -> None:
    shelf = await filled(tmp_path)
    pid = shelf.pid
    assert pid
    await shelf.aclose()
    await shelf.aclose()
    assert shelf.pid is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert (await shelf.about(NAME)).passages == TOGETHER
    assert shelf.pid != pid
    await shelf.aclose()


async def test_a_cancelled_request_disturbs_no_other(tmp_path: Path) -> None:
    shelf = await filled(tmp_path)
    searches = [asyncio.create_task(shelf.nearest(NAME, vectors(0)[row], 5)) for row in range(20)]
    await asyncio.sleep(0)
    for search in searches[::2]:
        search.cancel()
    answers = await asyncio.gather(*searches, return_exceptions=True)
    for row, neighbours in enumerate(answers):
        if row % 2:
            assert not isinstance(neighbours, BaseException)
            assert neighbours[0].passage == batch(0)[row]
        else:
            assert isinstance(neighbours, asyncio.CancelledError)
    await shelf.aclose()
