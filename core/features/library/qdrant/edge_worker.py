"""The worker process of the embedded database: collections as folders, each a shard of Qdrant Edge.

The engine holds the interpreter lock during a call, and aborts its process when the disk is full, so it has a separate
process: `python -m core.features.library.qdrant.edge_worker FOLDER IDLE`. It reads requests from standard input, and writes the
replies to standard output.
"""

import json
import os
import select
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import qdrant_edge as edge
from numpy.typing import NDArray

from core.features.library.qdrant.collection_folders import CollectionFolders, Refused
from core.features.library.qdrant.edge_protocol import CONFIG, NOTHING, from_frame, to_frame
from core.features.library.qdrant.points import COSINE, DOCUMENT, NAMED, SOURCE, equals, without_source
from core.sandbox import confine
from core.sandbox.frames import read_frame, reply_stream, write_frame

_SYSTEM_INFORMATION = tuple(
    map(Path, ("/proc/meminfo", "/proc/cpuinfo", "/proc/sys/vm", "/sys/devices/system", "/sys/fs/cgroup"))
)
"""System files that the engine and its allocator read to size their pools."""
FLUSHED = 10_000
"""Passages after which the write-ahead log is flushed into the collection."""
Vectors = NDArray[np.float32]
Reply = dict[str, Any]
"""The reply to a request, as JSON except for the array under `vectors`."""
WITH_VECTORS = ("put", "nearest")


class Shards:
    """The collections below one folder. Serves one request at a time."""

    def __init__(self, folder: Path) -> None:
        self.folders = CollectionFolders(folder)
        self._unflushed: dict[str, int] = {}

    def ping(self) -> None:
        """Show that the process is running."""

    # --- collections --------------------------------------------------------------------------------------

    def about(self, name: str) -> Reply:
        """Describe a collection: shape, number of passages and embedder."""
        shard = self.folders.shard(name)
        first, _ = shard.scroll(edge.ScrollRequest(limit=1, with_payload=["metadata.embedder"]))
        metadata = ((first[0].payload if first else None) or {}).get("metadata")
        embedder = metadata.get("embedder") if isinstance(metadata, dict) else ""
        reply = {"passages": shard.count(edge.CountRequest(exact=True)), "embedder": embedder}
        return reply | self.shape(name)

    def shape(self, name: str) -> Reply:
        """Read width, distance and vector name from the configuration."""
        try:
            vectors = json.loads((self.folders.folder / name / CONFIG).read_text()).get("vectors") or {}
        except FileNotFoundError as error:
            raise Refused("missing") from error
        vector = next(iter(vectors), "")
        if len(vectors) != 1 or vectors[vector].get("multivector_config"):
            return {"width": 0, "distance": NAMED, "vector": ""}
        params = vectors[vector]
        return {"width": params["size"], "distance": str(params["distance"]).lower(), "vector": vector}

    def create(self, name: str, width: int) -> None:
        """Create an empty collection."""
        self.folders.create(name, width)

    def drop(self, name: str) -> None:
        """Delete a collection."""
        self.folders.drop(name)

    # --- passages -----------------------------------------------------------------------------------------

    def put(
        self, name: str, ids: list[int | str], payloads: list[dict[str, Any]], vectors: Vectors
    ) -> Reply | None:
        """Add or replace points. `vectors` holds the rows one after the other."""
        shape = self.shape(name)
        if mismatch := _mismatch(shape, len(vectors) // max(1, len(ids))):
            return mismatch
        plain, vector = vectors.reshape(len(ids), -1).tolist(), shape["vector"]
        rows: list[Any] = [{vector: row} for row in plain] if vector else plain
        points = [edge.Point(*point) for point in zip(ids, rows, payloads, strict=True)]
        shard = self.folders.shard(name)
        shard.update(edge.UpdateOperation.upsert_points(points))
        self._unflushed[name] = self._unflushed.get(name, 0) + len(ids)
        if self._unflushed[name] >= FLUSHED:
            shard.flush()
            self._unflushed[name] = 0
        return None

    def nearest(
        self, name: str, limit: int, where: dict[str, Any] | None, exact: bool, vectors: Vectors
    ) -> Reply:
        """Find the points most similar to the vector. Returns ids, scores, payloads and vectors."""
        shape = self.shape(name)
        if mismatch := _mismatch(shape, len(vectors)):
            return mismatch
        vector: str = shape["vector"]
        points = self.folders.shard(name).query(
            edge.QueryRequest(
                limit=limit,
                query=edge.Query.Nearest(vectors.tolist(), using=vector or None),
                filter=_filter(where),
                params=edge.SearchParams(exact=exact),
                with_payload=True,
                with_vector=True,
            )
        )
        rows = [point.vector[vector] if isinstance(point.vector, dict) else point.vector for point in points]
        scores = [point.score for point in points]
        return _points(points) | {"scores": scores, "vectors": np.array(rows, dtype=np.float32)}

    def get(self, name: str, ids: list[int | str]) -> Reply:
        """Return ids and payloads of these points."""
        return _points(self.folders.shard(name).retrieve(list(ids), with_payload=True, with_vector=False))

    def scroll(self, name: str, limit: int, after: int | str | None, where: dict[str, Any] | None) -> Reply:
        """Return the next points, and the following id. The points have ids and payloads."""
        records, further = self.folders.shard(name).scroll(
            edge.ScrollRequest(offset=after, limit=limit, filter=_filter(where), with_payload=True)
        )
        return _points(records) | {"further": "" if further is None else str(further)}

    def remove(self, name: str, where: dict[str, Any]) -> None:
        """Delete the points that match."""
        shard, narrowed = self.folders.shard(name), _filter(where)
        if narrowed is None:
            raise ValueError("a filter is required")
        shard.update(edge.UpdateOperation.delete_points_by_filter(narrowed))
        shard.flush()

    def documents(self, name: str, limit: int) -> Reply:
        """List documents with source and number of passages."""
        shard = self.folders.shard(name)
        documents = _facet(shard, DOCUMENT, limit)
        documents.pop("", None)
        first = [
            edge.QueryRequest(limit=1, with_payload=[SOURCE], filter=_filter(equals(DOCUMENT, document)))
            for document in documents
        ]
        batches = shard.query_batch(edge.QueryBatchRequest(first)) if first else []
        rows = [
            [_source(points), document, documents[document]]
            for document, points in zip(documents, batches, strict=True)
        ]
        sources = _facet(shard, SOURCE, limit, equals(DOCUMENT, ""))
        rows += [[source, "", count] for source, count in sources.items() if source]
        rows.append(["", "", shard.count(edge.CountRequest(exact=True, filter=_filter(without_source())))])
        return {"documents": rows}


def _mismatch(shape: dict[str, Any], width: int) -> Reply | None:
    """Return the collection's shape if it does not fit. It must fit vectors of this width. Otherwise None."""
    fits = (shape["width"], shape["distance"]) == (width, COSINE)
    return None if fits else {"mismatch": shape}


def _facet(
    shard: edge.EdgeShard, key: str, limit: int, where: dict[str, Any] | None = None
) -> dict[str, int]:
    request = edge.FacetRequest(key, limit=limit + 1, exact=True, filter=_filter(where))
    return {str(hit.value): hit.count for hit in shard.facet(request).hits}


def _source(points: list[edge.ScoredPoint]) -> str:
    metadata = ((points[0].payload if points else None) or {}).get("metadata")
    source = metadata.get("source") if isinstance(metadata, dict) else None
    return str(source) if isinstance(source, str | int | float) else ""


def _points(records: Sequence[edge.Record | edge.ScoredPoint]) -> dict[str, Any]:
    return {
        "ids": [point.id if isinstance(point.id, int) else str(point.id) for point in records],
        "payloads": [point.payload for point in records],
    }


def _filter(where: dict[str, Any] | None) -> edge.Filter | None:
    """Convert a filter from Qdrant's JSON to the engine's types."""
    if where is None:
        return None
    return edge.Filter(
        must=[_condition(condition) for condition in where["must"]] if "must" in where else None,
        should=[_condition(condition) for condition in where["should"]] if "should" in where else None,
    )


def _condition(condition: dict[str, Any]) -> Any:
    if "key" not in condition:
        return (
            edge.IsEmptyCondition(condition["is_empty"]["key"])
            if "is_empty" in condition
            else _filter(condition)
        )
    if "range" in condition:
        return edge.FieldCondition(key=condition["key"], range=edge.RangeFloat(**condition["range"]))
    return edge.FieldCondition(key=condition["key"], match=edge.MatchValue(condition["match"]["value"]))


# --- the process ------------------------------------------------------------------------------------------


def handle(shards: Shards, request: dict[str, Any], vectors: Vectors) -> Reply:
    """Reply to a request. An error is returned, not raised."""
    call: Callable[..., Reply | None] = getattr(shards, request["do"])
    rows = {"vectors": vectors} if request["do"] in WITH_VECTORS else {}
    try:
        return call(**request["with"], **rows) or {}
    except Refused as refused:
        return {"refused": str(refused)}
    except Exception as error:  # the engine raises no narrower type
        return {"failed": str(error) or type(error).__name__}


def serve(shards: Shards, requests: BinaryIO, replies: BinaryIO, idle: float) -> None:
    """Serve requests until their stream ends. It is unbuffered, so that `select` sees waiting requests.

    After `idle` seconds without a request all collections are closed, so that another process can open them.
    """
    while True:
        if not shards.folders.all_closed and not select.select([requests], [], [], idle)[0]:
            shards.folders.close()
        frame = read_frame(requests)
        if frame is None:
            return
        request, vectors = from_frame(*frame)
        reply = handle(shards, request, vectors)
        rows = reply.pop("vectors", NOTHING)
        write_frame(replies, *to_frame(reply | {"id": request["id"]}, rows))


def main() -> None:
    """Serve requests from standard input, confined to the folder."""
    replies = reply_stream()
    folder, idle = sys.argv[1:]
    os.umask(0o077)
    confine(keep=(replies.fileno(),), readable=_SYSTEM_INFORMATION, writable=Path(folder))
    shards = Shards(Path(folder))
    try:
        with os.fdopen(0, "rb", buffering=0, closefd=False) as requests:
            serve(shards, cast(BinaryIO, requests), replies, float(idle))
    except BrokenPipeError:
        pass  # the parent has ended; the request was served
    finally:
        shards.folders.close()


if __name__ == "__main__":
    main()
