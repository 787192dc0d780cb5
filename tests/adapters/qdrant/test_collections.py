"""What every vector database behind the `Collections` port does, whichever it is."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import SecretStr

from core.adapters.qdrant.edge_collections import EdgeCollections
from core.adapters.qdrant.server_collections import ServerCollections
from core.errors import BadInput, LibraryFailed
from core.library.vector_database import Collections
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
    for at, row in enumerate(rows):
        vectors[at, : len(row)] = row
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def passages(count: int, document: str = "d1", source: str = "mills.pdf") -> list[LibraryPassage]:
    return [
        LibraryPassage(
            id=passage_id(document, at, "m"),
            content=f"{source} {at}",
            source=source,
            section=f"Chapter {at}",
            url="https://mills.example/",
            title="Mills",
            page=at // 2 + 1,
            created_at="2026-01-02",
            document=document,
            position=at,
            embedder="m",
        )
        for at in range(count)
    ]


def turned(count: int, seed: int = 0) -> NDArray[np.float32]:
    return unit(*np.random.default_rng(seed).standard_normal((count, WIDTH)).tolist())


async def filled(shelf: Collections) -> tuple[list[LibraryPassage], NDArray[np.float32]]:
    """Ten passages of one document and six of another."""
    held = passages(10) + passages(6, "d2", "looms.pdf")
    vectors = turned(16)
    await shelf.create(NAME, WIDTH)
    await shelf.put(NAME, held, vectors)
    return held, vectors


async def test_collections_are_made_once_listed_and_dropped(shelf: Collections) -> None:
    assert await shelf.names() == ()
    for name in ("looms", NAME, NAME):
        await shelf.create(name, WIDTH)
    assert await shelf.names() == (NAME, "looms")
    found = await shelf.about(f" {NAME} ")
    assert (found.name, found.width, found.distance, found.passages, found.embedder) == (
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
    held, _ = await filled(shelf)
    bare = LibraryPassage(id=str(uuid.uuid4()), content="nothing but words")
    await shelf.put(NAME, [bare], turned(1, seed=1))
    wanted = [held[3], bare, held[0]]
    assert await shelf.get(NAME, [one.id for one in wanted]) == tuple(wanted)
    unknown = [str(uuid.uuid4()), "7", "nonsense", "", "-1", str(2**64)]
    assert await shelf.get(NAME, [*unknown, held[1].id]) == (held[1],)
    found = await shelf.about(NAME)
    assert found.passages == 17


async def test_putting_it_again_replaces_it(shelf: Collections) -> None:
    held, vectors = await filled(shelf)
    await shelf.put(NAME, [replace(held[2], content="in new words")], vectors[2:3])
    (found,) = await shelf.get(NAME, [held[2].id])
    assert found.content == "in new words"
    assert (await shelf.about(NAME)).passages == 16
    await shelf.put(NAME, [], np.empty((0, WIDTH), dtype=np.float32))
    assert (await shelf.about(NAME)).passages == 16


@pytest.mark.parametrize("exact", [False, True])
async def test_the_nearest_come_in_the_order_of_their_cosine(shelf: Collections, exact: bool) -> None:
    held, vectors = await filled(shelf)
    asked = turned(1, seed=2)[0]
    cosines = vectors @ asked
    found = await shelf.nearest(NAME, asked, 5, exact=exact)
    order = np.argsort(-cosines)[:5]
    assert [one.passage for one in found] == [held[at] for at in order]
    assert np.allclose([one.score for one in found], cosines[order], atol=1e-5)
    for one, at in zip(found, order, strict=True):
        assert one.vector.dtype == np.float32
        assert not one.vector.flags.writeable
        assert np.allclose(one.vector, vectors[at], atol=1e-6)


async def test_a_search_is_narrowed_by_metadata(shelf: Collections) -> None:
    held, vectors = await filled(shelf)
    found = await shelf.nearest(NAME, vectors[0], 20, {"source": "looms.pdf", "page": 2})
    assert {one.passage.id for one in found} == {held[12].id, held[13].id}
    for where in ({"section": "Chapter 3"}, {"position": 3}, {"page": 2, "position": 3}, {"title": "Mills"}):
        found = await shelf.nearest(NAME, vectors[0], 20, where)
        wanted = [one for one in held if all(getattr(one, name) == where[name] for name in where)]
        assert {one.passage.id for one in found} == {one.id for one in wanted}
    assert await shelf.nearest(NAME, vectors[0], 20, {"source": "nobody.pdf"}) == ()


async def test_scrolling_brings_everything_once_in_the_order_of_ids(shelf: Collections) -> None:
    held, _ = await filled(shelf)
    seen: list[LibraryPassage] = []
    part, after = await shelf.scroll(NAME, 5)
    while after:
        seen += part
        assert len(part) == 5
        part, after = await shelf.scroll(NAME, 5, after)
    assert [*seen, *part] == sorted(held, key=lambda one: uuid.UUID(one.id).int)
    part, after = await shelf.scroll(NAME, 100, where={"document": "d2"})
    assert {one.id for one in part} == {one.id for one in held[10:]}
    assert after == ""


async def test_holdings_are_the_documents_with_most_passages_first(shelf: Collections) -> None:
    await filled(shelf)
    both = (
        LibraryDocument(source="mills.pdf", digest="d1", passages=10),
        LibraryDocument(source="looms.pdf", digest="d2", passages=6),
    )
    assert await shelf.documents(NAME) == both
    assert await shelf.documents(NAME, 1) == both[:1]
    await shelf.remove(NAME, {"document": "d1"})
    assert await shelf.documents(NAME) == both[1:]
    assert (await shelf.about(NAME)).passages == 6
    assert (await shelf.about(NAME)).embedder == "m"


async def test_what_does_not_fit_is_refused_with_what_to_do(shelf: Collections) -> None:
    held, vectors = await filled(shelf)
    narrow, nan = np.ones((1, 3), dtype=np.float32), np.full((1, WIDTH), np.nan, dtype=np.float32)
    for wrong in (
        lambda: shelf.create(NAME, 3),
        lambda: shelf.put(NAME, held[:1], narrow),
        lambda: shelf.put(NAME, held[:1], nan),
        lambda: shelf.put(NAME, held[:2], vectors[:1]),
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
    for asked in (
        lambda: shelf.about("gone"),
        lambda: shelf.put("gone", passages(1), vector[None]),
        lambda: shelf.nearest("gone", vector, 3),
        lambda: shelf.get("gone", [str(uuid.uuid4())]),
        lambda: shelf.scroll("gone", 3),
        lambda: shelf.documents("gone"),
        lambda: shelf.remove("gone", {"document": "d1"}),
    ):
        with pytest.raises(LibraryFailed, match="no collection gone") as failed:
            await asked()
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
    for said in await asyncio.gather(*searching):
        assert "no collection" in said
        assert "deleted" in said
    assert await shelf.names() == ()


async def test_writers_and_readers_do_not_get_in_each_others_way(shelf: Collections) -> None:
    await shelf.create(NAME, WIDTH)
    documents = [passages(40, f"d{at}", f"{at}.pdf") for at in range(6)]
    await asyncio.gather(
        *(shelf.put(NAME, document, turned(40, at)) for at, document in enumerate(documents)),
        *(shelf.nearest(NAME, turned(1)[0], 5) for _ in range(6)),
    )
    held = await shelf.documents(NAME)
    assert [one.passages for one in held] == [40] * 6
