"""Concurrent ingests into one collection: starting, resuming and deleting lose no passage."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from core.errors import BadInput, LibraryFailed
from core.features.library.ingests import IngestState, Upload
from core.model import LibraryPassage
from tests.features.library.conftest import OpenLibrary
from tests.features.library.sample_library import Counting, SampleLibrary, outcomes, stored_files
from tests.services.collections import InMemory

pytestmark = pytest.mark.asyncio(loop_scope="package")

THEIRS = [
    LibraryPassage(id=f"000000{n}-0000-4000-8000-000000000000", content=f"Words of {n}.", source="theirs.pdf")
    for n in range(10, 70)
]


class Stuck(InMemory):
    """Nothing can be dropped for a while."""

    stuck = True

    async def drop(self, name: str) -> None:
        if self.stuck:
            raise LibraryFailed("It is stuck.")
        await super().drop(name)


async def test_collection_to_be_emptied_for_re_embedding_accepts_no_documents(
    open_library: OpenLibrary,
) -> None:
    database = Stuck()
    books = open_library(database=database)
    await books.create("books")
    await books.put(*THEIRS)
    with pytest.raises(LibraryFailed, match="stuck"):
        await books.ingests.reembed("books")
    for refused in (books.ingests.add("books", [Upload("a.txt", b"Words.")]), books.ingests.reembed("books")):
        with pytest.raises(BadInput, match="is being re-embedded"):
            await refused
    assert len(await books.ingests.unfinished()) == 1
    database.stuck = False
    (resumed,) = await books.ingests.resume()
    assert (await resumed.wait()).state is IngestState.DONE
    assert {passage.content for passage, _ in database.collections["books"].points.values()} == {
        passage.content for passage in THEIRS
    }
    assert outcomes(await books.add(Upload("a.txt", b"Words."))) == {"a.txt": "done"}


class WaitingScroll(InMemory):
    """Scrolling waits until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.called, self.gate = asyncio.Event(), asyncio.Event()

    async def scroll(
        self, name: str, limit: int, after: str = "", where: Mapping[str, str | int] | None = None
    ) -> tuple[tuple[LibraryPassage, ...], str]:
        self.called.set()
        await self.gate.wait()
        return await super().scroll(name, min(limit, 20), after, where)


async def test_no_ingest_starts_or_resumes_while_emptying(open_library: OpenLibrary) -> None:
    database = WaitingScroll()
    books = open_library(database=database)
    await books.create("books")
    await books.put(*THEIRS)
    reembedding = asyncio.create_task(books.ingests.reembed("books"))
    await database.called.wait()
    assert await books.ingests.unfinished() == (), "it is being begun"
    others = [
        asyncio.create_task(books.ingests.add("books", [Upload("a.txt", b"Words.")])),
        asyncio.create_task(books.ingests.reembed("books")),
    ]
    assert await books.ingests.resume() == ()
    database.gate.set()
    for refused in others:
        with pytest.raises(BadInput, match="is being re-embedded"):
            await refused
    finished = await (await reembedding).wait()
    assert finished.state is IngestState.DONE
    assert {passage.content for passage, _ in database.collections["books"].points.values()} == {
        passage.content for passage in THEIRS
    }


async def test_ingests_of_other_processes_conflict_too(open_library: OpenLibrary) -> None:
    database, embed = InMemory(), Counting()
    first = open_library(database=database, embed=embed)
    second = open_library(database=database)
    embed.gate.clear()
    adding = await first.ingests.add("books", [Upload("a.txt", b"Words of a.")])
    with pytest.raises(BadInput, match="are being added"):
        await second.ingests.reembed("books")
    embed.gate.set()
    await adding.wait()
    embed.gate.clear()
    reembedding = await first.ingests.reembed("books")
    for refused in (
        second.ingests.add("books", [Upload("b.txt", b"Words of b.")]),
        second.ingests.reembed("books"),
    ):
        with pytest.raises(BadInput, match="is being re-embedded"):
            await refused
    embed.gate.set()
    await reembedding.wait()
    added = await second.add(Upload("b.txt", b"Words of b."))
    assert outcomes(added) == {"b.txt": "done"}


async def test_an_interrupted_ingest_is_resumed_once(books: SampleLibrary) -> None:
    books.embed.gate.clear()
    ingest = await books.ingests.add("books", [Upload("a.txt", b"Words of a.")])
    await books.embed.called.wait()
    await ingest.interrupt()
    resumed = await asyncio.gather(books.ingests.resume(), books.ingests.resume())
    ((running,),) = [each for each in resumed if each]
    books.embed.gate.set()
    assert outcomes(await running.wait()) == {"a.txt": "done"}


async def test_a_deleted_collection_does_not_come_back(tmp_path: Path, open_library: OpenLibrary) -> None:
    database, embed = InMemory(), Counting()
    first = open_library(database=database, embed=embed)
    embed.gate.clear()
    await first.ingests.add("books", [Upload("a.txt", b"Words of a."), Upload("b.txt", b"Words of b.")])
    await embed.called.wait()
    await first.aclose()
    second = open_library(database=database)
    await second.drop("books")
    assert await second.ingests.unfinished() == ()
    assert await second.ingests.resume() == ()
    assert database.collections == {}
    assert stored_files(tmp_path) == set()


async def test_leases_of_ended_processes_are_deleted(tmp_path: Path, open_library: OpenLibrary) -> None:
    leases = tmp_path / "documents" / "leases"
    leases.mkdir(parents=True)
    (leases / "0123456789abcdef.lease").touch()
    first, second = open_library(), open_library()
    for books in (first, second):
        await books.add(Upload("a.txt", b"Words."))
    assert len(list(leases.iterdir())) == 2
    await first.aclose()
    await second.aclose()
    assert list(leases.iterdir()) == []
