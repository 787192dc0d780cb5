"""Inside the process that holds the embedded database: collections as folders, each a shard of Qdrant Edge.

The engine keeps the interpreter to itself for as long as a call takes, and ends its process where the disk
is full, so it has one of its own: `python -m core.adapters.qdrant.edge_worker FOLDER IDLE`, asked over
stdin and stdout. `python -m core.adapters.qdrant.edge_worker settle FOLDER` makes the index of one collection.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import qdrant_edge as edge
from numpy.typing import NDArray

from core.adapters.qdrant.collection_folders import CollectionFolders, Refused
from core.adapters.qdrant.edge_protocol import CONFIG, HEAD, NOTHING, packed, unpacked
from core.adapters.qdrant.points import COSINE, DOCUMENT, NAMED, SOURCE, nameless, value_is

FLUSHED = 10_000
"""Passages after which the log of changes is written into the collection and begun anew."""
Numbers = NDArray[np.float32]
Reply = tuple[dict[str, Any], Numbers]


class Shards:
    """The collections below one folder. One question at a time."""

    def __init__(self, folder: Path) -> None:
        self.folders = CollectionFolders(folder)
        self._unflushed: dict[str, int] = {}

    def ping(self) -> Reply:
        return {}, NOTHING

    # --- collections --------------------------------------------------------------------------------------

    def about(self, name: str) -> Reply:
        shard = self._shard(name)
        first, _ = shard.scroll(edge.ScrollRequest(limit=1, with_payload=["metadata.embedder"]))
        metadata = ((first[0].payload if first else None) or {}).get("metadata")
        embedder = metadata.get("embedder") if isinstance(metadata, dict) else ""
        told = {"passages": shard.count(edge.CountRequest(exact=True)), "embedder": embedder}
        return told | self.shape(name)[0], NOTHING

    def shape(self, name: str) -> Reply:
        """Width and distance, from the collection's own description."""
        try:
            vectors = json.loads((self.folders.folder / name / CONFIG).read_text()).get("vectors") or {}
        except FileNotFoundError as error:
            raise Refused("missing") from error
        plain = vectors.get("")
        if len(vectors) != 1 or plain is None or plain.get("multivector_config"):
            return {"width": 0, "distance": NAMED}, NOTHING
        return {"width": plain["size"], "distance": str(plain["distance"]).lower()}, NOTHING

    def create(self, name: str, width: int) -> Reply:
        self.folders.create(name, width)
        return {}, NOTHING

    def drop(self, name: str) -> Reply:
        self.folders.drop(name)
        return {}, NOTHING

    # --- an index for searches, made by another process on a copy -----------------------------------------

    def unsettled(self, name: str) -> Reply:
        """How many vectors each search compares one by one."""
        info = self._shard(name).info()
        return {"count": max(0, info.points_count - info.indexed_vectors_count)}, NOTHING

    def copy(self, name: str) -> Reply:
        return {"copy": str(self.folders.copy(name))}, NOTHING

    def replace(self, name: str) -> Reply:
        return {"replaced": self.folders.replace(name)}, NOTHING

    def discard(self, name: str) -> Reply:
        self.folders.discard(name)
        return {}, NOTHING

    # --- passages -----------------------------------------------------------------------------------------

    def put(self, name: str, ids: list[int | str], payloads: list[dict[str, Any]], numbers: Numbers) -> Reply:
        if unfit := self._unfit(name, len(numbers) // max(1, len(ids))):
            return unfit
        vectors = numbers.reshape(len(ids), -1).tolist()
        points = [edge.Point(*point) for point in zip(ids, vectors, payloads, strict=True)]
        shard = self._shard(name)
        self.folders.changed(name)
        shard.update(edge.UpdateOperation.upsert_points(points))
        self._unflushed[name] = self._unflushed.get(name, 0) + len(ids)
        if self._unflushed[name] >= FLUSHED:
            shard.flush()
            self._unflushed[name] = 0
        return {}, NOTHING

    def nearest(
        self, name: str, limit: int, where: dict[str, Any] | None, exact: bool, numbers: Numbers
    ) -> Reply:
        if unfit := self._unfit(name, len(numbers)):
            return unfit
        found = self._shard(name).query(
            edge.QueryRequest(
                limit=limit,
                query=edge.Query.Nearest(numbers.tolist()),
                filter=_filter(where),
                params=edge.SearchParams(exact=exact),
                with_payload=True,
                with_vector=True,
            )
        )
        told = {
            "ids": [_id(point.id) for point in found],
            "scores": [point.score for point in found],
            "payloads": [point.payload for point in found],
        }
        return told, np.array([point.vector for point in found], dtype=np.float32)

    def get(self, name: str, ids: list[int | str]) -> Reply:
        return _points(self._shard(name).retrieve(list(ids), with_payload=True, with_vector=False)), NOTHING

    def scroll(self, name: str, limit: int, after: int | str | None, where: dict[str, Any] | None) -> Reply:
        found, further = self._shard(name).scroll(
            edge.ScrollRequest(offset=after, limit=limit, filter=_filter(where), with_payload=True)
        )
        return _points(found) | {"further": "" if further is None else str(further)}, NOTHING

    def remove(self, name: str, where: dict[str, Any]) -> Reply:
        shard, narrowed = self._shard(name), _filter(where)
        if narrowed is None:
            raise ValueError("nothing says what to remove")
        self.folders.changed(name)
        shard.update(edge.UpdateOperation.delete_points_by_filter(narrowed))
        shard.flush()
        return {}, NOTHING

    def documents(self, name: str, limit: int) -> Reply:
        """Rows of source, document and how many passages."""
        shard = self._shard(name)
        documents = _facet(shard, DOCUMENT, limit)
        documents.pop("", None)
        first = [
            edge.QueryRequest(limit=1, with_payload=[SOURCE], filter=_filter(value_is(DOCUMENT, document)))
            for document in documents
        ]
        batches = shard.query_batch(edge.QueryBatchRequest(first)) if first else []
        held = [
            [_source(found), document, documents[document]]
            for document, found in zip(documents, batches, strict=True)
        ]
        sources = _facet(shard, SOURCE, limit, value_is(DOCUMENT, ""))
        held += [[source, "", count] for source, count in sources.items() if source]
        held.append(["", "", shard.count(edge.CountRequest(exact=True, filter=_filter(nameless())))])
        return {"documents": held}, NOTHING

    def _unfit(self, name: str, width: int) -> Reply | None:
        """The collection's shape, when vectors of this width cannot be compared with its own."""
        shape = self.shape(name)[0]
        return None if shape == {"width": width, "distance": COSINE} else ({"unfit": shape}, NOTHING)

    def _shard(self, name: str) -> edge.EdgeShard:
        return self.folders.shard(name)


def _facet(
    shard: edge.EdgeShard, key: str, limit: int, where: dict[str, Any] | None = None
) -> dict[str, int]:
    asked = edge.FacetRequest(key, limit=limit + 1, exact=True, filter=_filter(where))
    return {str(hit.value): hit.count for hit in shard.facet(asked).hits}


def _source(found: list[edge.ScoredPoint]) -> str:
    metadata = ((found[0].payload if found else None) or {}).get("metadata")
    source = metadata.get("source") if isinstance(metadata, dict) else None
    return str(source) if isinstance(source, str | int | float) else ""


def _points(found: list[edge.Record]) -> dict[str, Any]:
    return {"ids": [_id(point.id) for point in found], "payloads": [point.payload for point in found]}


def _id(point: Any) -> int | str:
    return point if isinstance(point, int) else str(point)


def _filter(told: dict[str, Any] | None) -> edge.Filter | None:
    """Qdrant's JSON as the engine's own values."""
    if told is None:
        return None
    return edge.Filter(
        must=[_condition(one) for one in told["must"]] if "must" in told else None,
        should=[_condition(one) for one in told["should"]] if "should" in told else None,
    )


def _condition(told: dict[str, Any]) -> Any:
    if "key" not in told:
        return edge.IsEmptyCondition(told["is_empty"]["key"]) if "is_empty" in told else _filter(told)
    if "range" in told:
        return edge.FieldCondition(key=told["key"], range=edge.RangeFloat(**told["range"]))
    return edge.FieldCondition(key=told["key"], match=edge.MatchValue(told["match"]["value"]))


# --- the process ------------------------------------------------------------------------------------------

WITH_NUMBERS = ("put", "nearest")


def answer(shards: Shards, asked: dict[str, Any], numbers: Numbers) -> Reply:
    """What a question brings. Whatever is wrong is told, not raised."""
    call: Callable[..., Reply] = getattr(shards, asked["do"])
    try:
        return call(**asked["with"], **({"numbers": numbers} if asked["do"] in WITH_NUMBERS else {}))
    except Refused as refused:
        return {"refused": str(refused)}, NOTHING
    except Exception as error:  # the engine raises nothing more telling
        return {"failed": str(error) or type(error).__name__}, NOTHING


def serve(shards: Shards, questions: int, answers: BinaryIO, idle: float) -> None:
    """Answer what comes over the descriptor until the other side hangs up.

    After `idle` seconds without a question collections are closed, so that another process can open them.
    """
    while True:
        if not shards.folders.at_rest and not select.select([questions], [], [], idle)[0]:
            shards.folders.close()
        try:
            told, raw = (_read(questions, length) for length in HEAD.unpack(_read(questions, HEAD.size)))
        except EOFError:
            return
        asked, numbers = unpacked(told, raw)
        message, found = answer(shards, asked, numbers)
        answers.write(packed(message | {"id": asked["id"]}, found))
        answers.flush()


def _read(descriptor: int, length: int) -> bytes:
    """Exactly so many bytes, and none of those behind them: `select` must see whether there are any."""
    parts, missing = [], length
    while missing:
        part = os.read(descriptor, min(missing, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def settle(folder: str) -> None:
    """Build the index for searches in a folder that is nobody else's, which takes all cores for a while."""
    os.nice(10)
    shard = edge.EdgeShard.load(folder)
    shard.optimize()
    shard.close()


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that a library prints may come between answers
    if sys.argv[1] == "settle":
        settle(sys.argv[2])
        return
    folder, idle = sys.argv[1:]
    shards = Shards(Path(folder))
    try:
        serve(shards, 0, answers, float(idle))
    except BrokenPipeError:
        pass  # nobody waits for the answer any more; what was asked is done
    finally:
        shards.folders.close()


if __name__ == "__main__":
    main()
