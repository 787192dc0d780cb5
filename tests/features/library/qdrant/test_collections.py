"""What every vector database behind the `Collections` port does, whichever it is."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import SecretStr

from core.errors import BadInput, LibraryFailed
from core.features.library.qdrant.edge_collections import EdgeCollections
from core.features.library.qdrant.server_collections import ServerCollections
from core.features.library.vector_database import Collections
from core.model import LibraryDocument, LibraryPassage
from core.model.library import passage_id
from tests.services.qdrant import FakeQdrant

WIDTH = 8
NAME = "book_content"


@pytest.fixture(params=["edge", "server", "strict server"])
async def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Collections]:
    if request.param == "edge":
        embedded = EdgeCollections(tmp_path / "library")
        yield embedded
        await embedded.aclose()
        return
    with FakeQdrant("a-secret-key", strict=request.param == "strict server") as qdrant:
        served = ServerCollections(qdrant.url, SecretStr("a-secret-key"))
        yield served
        await served.aclose()


def unit(*rows: list[float]) -> NDArray[np.float32]:
    vectors = np.zeros((len(rows), WIDTH), dtype=np.float32)
    for row_number, row in enumerate(rows):
        vectors[row_number, : len(row)] = row
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def passages(count: int, document: str = "d1", source: str = "mills.pdf") -> list[LibraryPassage]:
    return [
        LibraryPassage(
            id=passage_id(document, position, "m"),
            content=f"{source} {position}",
            source=source,
            section=f"Chapter {position}",
            url="https://mills.example/",
            title="Mills",
            page=position // 2 + 1,
            created_at="2026-01-02",
            document=document,
            position=position,
            embedder="m",
        )
        for position in range(count)
    ]


def turned(count: int, seed: int = 0) -> NDArray[np.float32]:
    return unit(*np.random.default_rng(seed).standard_normal((count, WIDTH)).tolist())


async def filled(shelf: Collections) -> tuple[list[LibraryPassage], NDArray[np.float32]]:
    """Ten passages of one document and six of another."""
    stored = passages(10) + passages(6, "d2", "looms.pdf")
    vectors = turned(16)
    await shelf.create(NAME, WIDTH)
    await shelf.put(NAME, stored, vectors)
    return stored, vectors


async def test_collections_are_made_once_listed_and_dropped(shelf: Collections) -> None:
    assert await shelf.names() == ()
    for name in ("looms", NAME, NAME):
        await shelf.create(name, WIDTH)
    assert await shelf.names() == (NAME, "looms")
    collection = await shelf.about(f" {NAME} ")
    assert (
        collection.name,
        collection.width,
        collection.distance,
        collection.passages,
        collection.embedder,
    ) == (
        NAME,
        WIDTH,
        "cosine",
        0,
        "",
    )
    for _ in range(2):
        await shelf.drop("looms")
    assert await shelf.names() == (NAME,)


async def test_a_passage_comes_back_as_it_was_put(shelf: Collections) -> None:
    stored, _ = await filled(shelf)
    bare = LibraryPassage(id=str(uuid.uuid4()), content="nothing but words")
    await shelf.put(NAME, [bare], turned(1, seed=1))
    expected = [stored[3], bare, stored[0]]
    assert await shelf.get(NAME, [passage.id for passage in expected]) == tuple(expected)
    unknown = [str(uuid.uuid4()), "7", "nonsense", "", "-1", str(2**64)]
    assert await shelf.get(NAME, [*unknown, stored[1].id]) == (stored[1],)
    collection = await shelf.about(NAME)
    assert collection.passages == 17


async def test_putting_it_again_replaces_it(shelf: Collections) -> None:
    stored, vectors = await filled(shelf)
    await shelf.put(NAME, [replace(stored[2], content="in new words")], vectors[2:3])
    (passage,) = await shelf.get(NAME, [stored[2].id])
    assert passage.content == "in new words"
    assert (await shelf.about(NAME)).passages == 16
    await shelf.put(NAME, [], np.empty((0, WIDTH), dtype=np.float32))
    assert (await shelf.about(NAME)).passages == 16


@pytest.mark.parametrize("exact", [False, True])
async def test_the_nearest_come_in_the_order_of_their_cosine(shelf: Collections, exact: bool) -> None:
    stored, vectors = await filled(shelf)
    query = turned(1, seed=2)[0]
    cosines = vectors @ query
    neighbours = await shelf.nearest(NAME, query, 5, exact=exact)
    order = np.argsort(-cosines)[:5]
    assert [neighbour.passage for neighbour in neighbours] == [stored[row] for row in order]
    assert np.allclose([neighbour.score for neighbour in neighbours], cosines[order], atol=1e-5)
    for neighbour, row in zip(neighbours, order, strict=True):
        assert neighbour.vector.dtype == np.float32
        assert not neighbour.vector.flags.writeable
        assert np.allclose(neighbour.vector, vectors[row], atol=1e-6)


async def test_a_search_is_narrowed_by_metadata(shelf: Collections) -> None:
    stored, vectors = await filled(shelf)
    neighbours = await shelf.nearest(NAME, vectors[0], 20, {"source": "looms.pdf", "page": 2})
    assert {neighbour.passage.id for neighbour in neighbours} == {stored[12].id, stored[13].id}
    for where in ({"section": "Chapter 3"}, {"position": 3}, {"page": 2, "position": 3}, {"title": "Mills"}):
        neighbours = await shelf.nearest(NAME, vectors[0], 20, where)
        expected = [
            passage for passage in stored if all(getattr(passage, name) == where[name] for name in where)
        ]
        assert {neighbour.passage.id for neighbour in neighbours} == {passage.id for passage in expected}
    assert await shelf.nearest(NAME, vectors[0], 20, {"source": "nobody.pdf"}) == ()


async def test_scrolling_brings_everything_once_in_the_order_of_ids(shelf: Collections) -> None:
    stored, _ = await filled(shelf)
    scrolled: list[LibraryPassage] = []
    part, after = await shelf.scroll(NAME, 5)
    while after:
        scrolled += part
        assert len(part) == 5
        part, after = await shelf.scroll(NAME, 5, after)
    assert [*scrolled, *part] == sorted(stored, key=lambda passage: uuid.UUID(passage.id).int)
    part, after = await shelf.scroll(NAME, 100, where={"document": "d2"})
    assert {passage.id for passage in part} == {passage.id for passage in stored[10:]}
    assert after == ""


async def test_holdings_are_the_documents_with_most_passages_first(shelf: Collections) -> None:
    await filled(shelf)
    collections = (
        LibraryDocument(source="mills.pdf", digest="d1", passages=10),
        LibraryDocument(source="looms.pdf", digest="d2", passages=6),
    )
    assert await shelf.documents(NAME) == collections
    assert await shelf.documents(NAME, 1) == collections[:1]
    await shelf.remove(NAME, {"document": "d1"})
    assert await shelf.documents(NAME) == collections[1:]
    assert (await shelf.about(NAME)).passages == 6
    assert (await shelf.about(NAME)).embedder == "m"


async def test_unfitting_vectors_are_refused_with_advice(shelf: Collections) -> None:
    stored, vectors = await filled(shelf)
    narrow, nan = np.ones((1, 3), dtype=np.float32), np.full((1, WIDTH), np.nan, dtype=np.float32)
    for wrong in (
        lambda: shelf.create(NAME, 3),
        lambda: shelf.put(NAME, stored[:1], narrow),
        lambda: shelf.put(NAME, stored[:1], nan),
        lambda: shelf.put(NAME, stored[:2], vectors[:1]),
        lambda: shelf.put(NAME, [LibraryPassage(id="page-1", content="x")], vectors[:1]),
        lambda: shelf.nearest(NAME, narrow[0], 3),
        lambda: shelf.nearest(NAME, nan[0], 3),
    ):
        with pytest.raises(LibraryFailed) as failed:
            await wrong()
        assert failed.value.hint
    with pytest.raises(LibraryFailed, match=f"has {WIDTH} dimensions, the embedder's vectors have 3"):
        await shelf.nearest(NAME, narrow[0], 3)
    for unclear in (
        lambda: shelf.remove(NAME, {}),
        lambda: shelf.remove(NAME, {"author": "x"}),
        lambda: shelf.nearest(NAME, vectors[0], 3, {"page": "three"}),
        lambda: shelf.create("../escape", WIDTH),
        lambda: shelf.drop(".."),
    ):
        with pytest.raises(BadInput):
            await unclear()
    assert (await shelf.about(NAME)).passages == 16


async def test_a_collection_that_is_not_there_is_said_so(shelf: Collections) -> None:
    vector = turned(1)[0]
    for request in (
        lambda: shelf.about("gone"),
        lambda: shelf.put("gone", passages(1), vector[None]),
        lambda: shelf.nearest("gone", vector, 3),
        lambda: shelf.get("gone", [str(uuid.uuid4())]),
        lambda: shelf.scroll("gone", 3),
        lambda: shelf.documents("gone"),
        lambda: shelf.remove("gone", {"document": "d1"}),
    ):
        with pytest.raises(LibraryFailed, match="no collection gone") as failed:
            await request()
        assert failed.value.hint


async def test_a_collection_may_be_deleted_while_it_is_searched(shelf: Collections) -> None:
    _, vectors = await filled(shelf)

    async def search() -> str:
        while True:
            try:
                await shelf.nearest(NAME, vectors[0], 3)
            except LibraryFailed as error:
                return f"{error.message} {error.hint}"

    searching = [asyncio.create_task(search()) for _ in range(4)]
    await shelf.nearest(NAME, vectors[0], 3)
    await shelf.drop(NAME)
    for outcome in await asyncio.gather(*searching):
        assert "no collection" in outcome
        assert "deleted" in outcome
    assert await shelf.names() == ()


async def test_writers_and_readers_do_not_disturb_each_other(shelf: Collections) -> None:
    await shelf.create(NAME, WIDTH)
    documents = [passages(40, f"d{number}", f"{number}.pdf") for number in range(6)]
    await asyncio.gather(
        *(shelf.put(NAME, document, turned(40, number)) for number, document in enumerate(documents)),
        *(shelf.nearest(NAME, turned(1)[0], 5) for _ in range(6)),
    )
    documents_stored = await shelf.documents(NAME)
    assert [document.passages for document in documents_stored] == [40] * 6
