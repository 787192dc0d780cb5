"""Collections that another tool made are read as they are, or refused in words."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import qdrant_edge as edge
from pydantic import SecretStr

from core.errors import LibraryFailed
from core.features.library.qdrant.edge_collections import EdgeCollections
from core.features.library.qdrant.server_collections import ServerCollections
from core.features.library.vector_database import Collections
from core.model import LibraryDocument, LibraryPassage
from tests.services.qdrant import FakeQdrant

WIDTH = 4
NAME = "wiki"
LAST = "9b2fbf0a-3c19-4f7c-8a55-000000000001"
POINTS: dict[int | str, Any] = {
    1: {"content": "one", "metadata": {"source": "a.txt", "page": "3", "author": {"name": "nobody"}}},
    7: {"content": "seven", "metadata": {"source": "a.txt", "page": 3, "title": "A", "created_at": "2020"}},
    42: {"content": "forty-two", "metadata": {"source": 7, "page": 3.0, "section": ["x"]}},
    99: {"text": "under another name", "metadata": "none"},
    100: {"content": 5, "metadata": {"source": "b.txt", "page": "cover", "document": "d"}},
    18446744073709551615: {"content": "the largest", "metadata": None},
    LAST: {"content": "nothing else"},
}
VECTORS = (np.eye(WIDTH, dtype=np.float32)[[0, 1, 2, 3, 0, 1, 2]] + 0.1) * 3
METADATA: dict[str, Any] = {
    "1": {"source": "a.txt", "page": "3", "author": {"name": "nobody"}},
    "7": {"source": "a.txt", "page": 3, "title": "A", "created_at": "2020"},
    "42": {"source": 7, "page": 3.0, "section": ["x"]},
    "99": {"metadata": "none"},
    "100": {"source": "b.txt", "page": "cover", "document": "d"},
    "18446744073709551615": {"metadata": None},
    LAST: {},
}
READ = {
    "1": LibraryPassage(id="1", content="one", source="a.txt", page=3),
    "7": LibraryPassage(id="7", content="seven", source="a.txt", page=3, title="A", created_at="2020"),
    "42": LibraryPassage(id="42", content="forty-two", source="7", page=3),
    "99": LibraryPassage(id="99", content="under another name"),
    "100": LibraryPassage(id="100", content="", source="b.txt", document="d"),
    "18446744073709551615": LibraryPassage(id="18446744073709551615", content="the largest"),
    LAST: LibraryPassage(id=LAST, content="nothing else"),
}


@pytest.fixture(params=["edge", "server", "read-only server"])
async def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Collections]:
    """The points under `NAME`; no index, no metadata of ours."""
    if request.param == "edge":
        params = edge.EdgeVectorParams(size=WIDTH, distance=edge.Distance.Cosine)
        shard = edge.EdgeShard.create(str(tmp_path / NAME), edge.EdgeConfig(vectors=params))
        pairs = zip(POINTS.items(), VECTORS.tolist(), strict=True)
        points = [edge.Point(point, vector, payload) for (point, payload), vector in pairs]
        shard.update(edge.UpdateOperation.upsert_points(points))
        shard.close()
        embedded = EdgeCollections(tmp_path)
        yield embedded
        await embedded.aclose()
        return
    from qdrant_client import models as m  # takes seconds

    with FakeQdrant("read-key", read_only=request.param == "read-only server") as qdrant:
        params = m.VectorParams(size=WIDTH, distance=m.Distance.COSINE)
        qdrant.engine.create_collection(NAME, vectors_config=params)
        batch = m.Batch(ids=list(POINTS), payloads=list(POINTS.values()), vectors=VECTORS.tolist())
        qdrant.engine.upsert(NAME, batch)
        served = ServerCollections(qdrant.url, SecretStr("read-key"))
        yield served
        await served.aclose()


async def test_every_point_is_read_whatever_its_id_and_payload(shelf: Collections) -> None:
    collection = await shelf.about(NAME)
    assert (collection.width, collection.distance, collection.passages, collection.embedder) == (
        WIDTH,
        "cosine",
        7,
        "",
    )
    assert await shelf.get(NAME, list(READ)) == tuple(READ.values())
    assert await shelf.get(NAME, ["007", str(uuid.uuid4()), "7"]) == (READ["7"],)
    assert {passage.id: passage.metadata for passage in await shelf.get(NAME, list(READ))} == METADATA
    everything, after = await shelf.scroll(NAME, 100)
    assert everything == tuple(READ.values())
    assert after == ""
    first, after = await shelf.scroll(NAME, 3)
    rest, _ = await shelf.scroll(NAME, 100, after)
    assert (*first, *rest) == everything


async def test_foreign_collections_are_searched_and_vectors_return_at_unit_length(shelf: Collections) -> None:
    query = VECTORS[2] / np.linalg.norm(VECTORS[2])
    neighbours = await shelf.nearest(NAME, query, 2)
    assert {neighbour.passage.id for neighbour in neighbours} == {"42", LAST}
    for neighbour in neighbours:
        assert neighbour.score == pytest.approx(1, abs=1e-5)
        assert np.allclose(neighbour.vector, query, atol=1e-6)


async def test_page_number_is_read_from_text_or_number(shelf: Collections) -> None:
    vector = VECTORS[0]
    for where, ids in (
        ({"page": 3}, {"1", "7", "42"}),
        ({"page": "3"}, {"1", "7", "42"}),
        ({"source": "7"}, {"42"}),
        ({"source": 7}, {"42"}),
        ({"source": "a.txt", "title": "A"}, {"7"}),
        ({"source": ""}, {"99", "18446744073709551615", LAST}),
        ({"document": "", "source": "a.txt"}, {"1", "7"}),
        ({"page": 4}, set()),
    ):
        neighbours = await shelf.nearest(NAME, vector, 10, where)
        assert {neighbour.passage.id for neighbour in neighbours} == ids, where
        scrolled, _ = await shelf.scroll(NAME, 10, where=where)
        assert {passage.id for passage in scrolled} == ids, where


async def test_what_has_no_document_is_held_by_its_source(shelf: Collections) -> None:
    documents = await shelf.documents(NAME)
    assert set(documents) >= {
        LibraryDocument(source="a.txt", digest="", passages=2),
        LibraryDocument(source="b.txt", digest="d", passages=1),
    }
    assert documents[0] == LibraryDocument(source="", digest="", passages=3)
    # A source that is a number stands in no index of words, and is counted where all are counted one by one.
    assert sum(document.passages for document in documents) in (6, 7)


@pytest.mark.parametrize("database", ["edge", "server"])
async def test_vectors_under_a_name_are_searched_and_added_to(tmp_path: Path, database: str) -> None:
    first, second = VECTORS[:2] / np.linalg.norm(VECTORS[:2], axis=1, keepdims=True)
    with FakeQdrant() as qdrant:
        shelf: Collections
        if database == "edge":
            vectors_config: Any = {"dense": edge.EdgeVectorParams(size=WIDTH, distance=edge.Distance.Cosine)}
            shard = edge.EdgeShard.create(str(tmp_path / NAME), edge.EdgeConfig(vectors=vectors_config))
            point = edge.Point(1, {"dense": first.tolist()}, POINTS[1])
            shard.update(edge.UpdateOperation.upsert_points([point]))
            shard.close()
            shelf = EdgeCollections(tmp_path)
        else:
            from qdrant_client import models as m  # takes seconds

            vectors_config = {"dense": m.VectorParams(size=WIDTH, distance=m.Distance.COSINE)}
            qdrant.engine.create_collection(NAME, vectors_config=vectors_config)
            batch = m.Batch(ids=[1], payloads=[POINTS[1]], vectors={"dense": [first.tolist()]})
            qdrant.engine.upsert(NAME, batch)
            shelf = ServerCollections(qdrant.url)
        try:
            assert (await shelf.about(NAME)).vector == "dense"
            await shelf.put(NAME, [LibraryPassage(id="2", content="two")], second[None])
            neighbours = await shelf.nearest(NAME, first, 2)
        finally:
            await shelf.aclose()
    assert [neighbour.passage.id for neighbour in neighbours] == ["1", "2"]
    assert np.allclose(neighbours[0].vector, first, atol=1e-6)


@pytest.fixture(params=["edge", "server"])
async def strange(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Collections]:
    """Collections that cannot be compared with an embedder's vectors, or not with this one's."""
    shapes: dict[str, Any] = {
        "wide": (1536, "Cosine"),
        "dotted": (WIDTH, "Dot"),
        "distant": (WIDTH, "Euclid"),
    }
    if request.param == "edge":
        for name, (size, distance) in shapes.items():
            params: Any = edge.EdgeVectorParams(size=size, distance=getattr(edge.Distance, distance))
            edge.EdgeShard.create(str(tmp_path / name), edge.EdgeConfig(vectors=params)).close()
        params = {
            side: edge.EdgeVectorParams(size=WIDTH, distance=edge.Distance.Cosine)
            for side in ("text", "image")
        }
        edge.EdgeShard.create(str(tmp_path / "named"), edge.EdgeConfig(vectors=params)).close()
        embedded = EdgeCollections(tmp_path)
        yield embedded
        await embedded.aclose()
        return
    from qdrant_client import models as m  # takes seconds

    with FakeQdrant() as qdrant:
        for name, (size, distance) in shapes.items():
            params = m.VectorParams(size=size, distance=distance)
            qdrant.engine.create_collection(name, vectors_config=params)
        params = {side: m.VectorParams(size=WIDTH, distance=m.Distance.COSINE) for side in ("text", "image")}
        qdrant.engine.create_collection("named", vectors_config=params)
        served = ServerCollections(qdrant.url)
        yield served
        await served.aclose()


@pytest.mark.parametrize(
    ("name", "width", "distance", "message"),
    [
        ("wide", 1536, "cosine", "has 1,536 dimensions, the embedder's vectors have 4"),
        ("dotted", WIDTH, "dot", "compares by dot distance"),
        ("distant", WIDTH, "euclid", "compares by euclid distance"),
        ("named", 0, "named vectors", "several named vectors"),
    ],
)
async def test_what_cannot_be_compared_is_described_and_refused(
    strange: Collections, name: str, width: int, distance: str, message: str
) -> None:
    collection = await strange.about(name)
    assert (collection.width, collection.distance, collection.passages) == (width, distance, 0)
    passage = LibraryPassage(id=LAST, content="x")
    for wrong in (
        lambda: strange.nearest(name, VECTORS[0], 3),
        lambda: strange.put(name, [passage], VECTORS[:1]),
        lambda: strange.create(name, WIDTH),
    ):
        with pytest.raises(LibraryFailed, match=message) as failed:
            await wrong()
        assert failed.value.hint
    assert (await strange.scroll(name, 3)) == ((), "")
    await strange.drop(name)
    assert name not in await strange.names()
