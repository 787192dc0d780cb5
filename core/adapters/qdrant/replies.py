"""Results of a Qdrant server as values. Each function raises some exception on a result of another form than it should have."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.adapters.qdrant.points import NAMED, passage_of
from core.errors import LibraryFailed
from core.model import Collection

Points = list[tuple[Any, Any]]
"""Ids with their payloads."""


def names(result: Any) -> list[str]:
    """The names of all collections."""
    return [collection["name"] for collection in result["collections"]]


def shape(name: str, result: Any) -> Collection:
    """A collection without the number of its passages."""
    described = result["config"]["params"]["vectors"] or {}
    vectors = {"": described} if "size" in described else described
    vector, params = next(iter(vectors.items()), ("", None))
    if len(vectors) != 1 or params is None or params.get("multivector_config"):
        return Collection(name=name, width=0, distance=NAMED, passages=0)
    distance = params["distance"].lower()
    return Collection(name=name, width=params["size"], distance=distance, passages=0, vector=vector)


def points(records: Any) -> Points:
    """Points without their vectors."""
    return [(record["id"], record.get("payload")) for record in records]


def page(result: Any) -> tuple[Points, Any]:
    """Some points of a collection, and the id of the one behind them; None at the end."""
    return points(result["points"]), result.get("next_page_offset")


def neighbours(shape: Collection, result: Any) -> list[tuple[Any, Any, float, NDArray[np.float32]]]:
    """Id, payload, score and vector of the nearest points.

    Raises:
        LibraryFailed: when a vector is not of the collection's width.
    """
    return [
        (point["id"], point.get("payload"), float(point["score"]), _vector(point["vector"], shape))
        for point in result["points"]
    ]


def sources(replies: Any) -> list[str]:
    """The source of the first point of each reply; empty where it has none."""
    firsts = [points(reply["points"][:1]) for reply in replies]
    return [passage_of(*first[0]).source if first else "" for first in firsts]


def count(result: Any) -> int:
    """How many points there are."""
    return int(result["count"])


def counts(result: Any) -> dict[str, int]:
    """How many there are for each value of a field."""
    return {str(hit["value"]): hit["count"] for hit in result["hits"]}


def status(result: Any) -> str:
    """How far a change of points or of an index is."""
    return str(result["status"])


def confirmed(result: Any) -> bool:
    """Whether a collection was created or deleted."""
    if not isinstance(result, bool):
        raise TypeError("neither done nor not")
    return result


def _vector(vectors: Any, shape: Collection) -> NDArray[np.float32]:
    """A point's vector, which the server sends alone or under its name."""
    vector = vectors.get(shape.vector) if isinstance(vectors, dict) else vectors
    if not isinstance(vector, list) or len(vector) != shape.width:
        raise LibraryFailed(
            f"The server did not return vectors of {shape.width} dimensions.",
            hint="Choose another collection.",
        )
    return np.array(vector, dtype=np.float32)
