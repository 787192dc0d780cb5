"""Results of a Qdrant server's replies, read from JSON. What is none raises one of the errors of reading a mapping."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.adapters.qdrant.points import NAMED, passage_of
from core.errors import LibraryFailed
from core.model import Collection


def done(result: Any) -> None:
    """Raises ValueError for what is no acknowledgement."""
    if not isinstance(result, bool) and "status" not in result:
        raise ValueError("neither a yes nor a status")


def count(result: Any) -> int:
    """A number of points."""
    return int(result["count"])


def facets(result: Any) -> dict[str, int]:
    """How many points there are for each value of a field."""
    return {str(hit["value"]): int(hit["count"]) for hit in result["hits"]}


def records(result: Any) -> list[tuple[Any, Any]]:
    """Ids and payloads."""
    return [(row["id"], row.get("payload")) for row in result]


def page(result: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """Ids and payloads, and the id of the point behind them, None at the end."""
    return records(result["points"]), result.get("next_page_offset")


def points(result: Any) -> list[tuple[Any, Any, float, Any]]:
    """Ids, payloads, scores and vectors of search results."""
    rows = result["points"]
    return [(row["id"], row.get("payload"), float(row["score"]), row.get("vector")) for row in rows]


def sources(result: Any) -> list[str]:
    """The source of the first passage that each of several searches has found; empty where it found none."""
    firsts = [records(reply["points"])[:1] for reply in result]
    return ["".join(passage_of(*point).source for point in first) for first in firsts]


def shape(name: str, result: Any) -> Collection:
    """A collection without its size; of several vectors for a point it has no width."""
    described: dict[str, Any] = result["config"]["params"].get("vectors") or {}
    vectors = {"": described} if isinstance(described.get("size"), int) else described
    vector_name, params = next(iter(vectors.items()), ("", dict[str, Any]()))
    if len(vectors) != 1 or params.get("multivector_config"):
        return Collection(name=name, width=0, distance=NAMED, passages=0)
    distance, width = params["distance"].lower(), params["size"]
    return Collection(name=name, width=width, distance=distance, passages=0, vector=vector_name)


def vector(vectors: Any, collection: Collection) -> NDArray[np.float32]:
    """A point's vector, which the server sends alone or under its name.

    Raises:
        LibraryFailed: when it is not of the collection's width.
    """
    row = vectors.get(collection.vector) if isinstance(vectors, dict) else vectors
    if not isinstance(row, list) or len(row) != collection.width:
        raise LibraryFailed(
            f"The server did not return vectors of {collection.width} dimensions.",
            hint="Choose another collection.",
        )
    return np.array(row, dtype=np.float32)
