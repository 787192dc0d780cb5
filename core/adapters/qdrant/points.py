"""Ids, filters and vectors of points as both Qdrant adapters send and read them, and what both refuse."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.adapters.qdrant.payload import FILTERS, NUMBERS, from_payload
from core.errors import BadInput, CollectionMissing, LibraryFailed
from core.model import Collection, LibraryDocument, LibraryPassage, Neighbour
from core.text.sanitize import pluralize

SOURCE, DOCUMENT, PAGE = "metadata.source", "metadata.document", "metadata.page"
KEYWORDS = (SOURCE, DOCUMENT)
INTEGERS = (PAGE,)
"""The payload fields that get an index: those by which documents are counted and searches filtered."""

COSINE = "cosine"
NAMED = "named vectors"
"""`Collection.distance`, with a width of 0, of a collection with several vectors per point."""

MOST = 10_000
"""The most passages that one call returns."""

_LARGEST_ID = 2**64 - 1


def point_id(text: str) -> int | str | None:
    """The id as Qdrant has it, a number or a UUID; None where no point can have it."""
    if text.isascii() and text.isdecimal() and len(text) <= 20:
        number = int(text)
        return number if number <= _LARGEST_ID and str(number) == text else None
    try:
        return str(uuid.UUID(text)) if len(text) == 36 else None
    except ValueError:
        return None


def point_ids(passages: Sequence[LibraryPassage]) -> list[int | str]:
    """Their ids as Qdrant has them.

    Raises:
        LibraryFailed: for one that no point can have.
    """
    ids: list[int | str] = []
    for passage in passages:
        point = point_id(passage.id)
        if point is None:
            raise LibraryFailed(f"{passage.id[:60]!r} cannot be a passage's id.", hint="Use a UUID.")
        ids.append(point)
    return ids


def filter_of(where: Mapping[str, str | int] | None, *, plain: bool = False) -> dict[str, Any] | None:
    """The filter, as Qdrant's JSON, for passages whose metadata equals `where`.

    What other tools write as 3, 3.0 or "3" reads as page 3, so all of them match; an empty text matches
    what is missing. A `plain` filter matches only the form that OpenQuery writes, which a payload index can answer.

    Raises:
        BadInput: for metadata that cannot be filtered by.
    """
    if not where:
        return None
    alternatives = [_alternatives(name, value) for name, value in where.items()]
    return {"must": [{"should": either[:1] if plain else either} for either in alternatives]}


def equals(key: str, value: str) -> dict[str, Any]:
    """The filter for passages with this text at `key`; an empty one matches what is missing too."""
    either: list[dict[str, Any]] = [{"key": key, "match": {"value": value}}]
    return {"must": [{"should": either if value else [*either, {"is_empty": {"key": key}}]}]}


def without_source() -> dict[str, Any]:
    """The filter for passages that name neither their document nor their source."""
    return {"must": [condition for key in KEYWORDS for condition in equals(key, "")["must"]]}


def _alternatives(name: str, value: str | int) -> list[dict[str, Any]]:
    key = f"metadata.{name}"
    number = _whole(value)
    if name not in FILTERS or (name in NUMBERS and number is None):
        raise BadInput(
            f"Passages cannot be filtered by {name[:60]} {str(value)[:60]!r}.",
            hint=f"Use {', '.join(FILTERS)}; {' and '.join(NUMBERS)} are whole numbers.",
        )
    either: list[dict[str, Any]] = [{"key": key, "match": {"value": str(value)}}]
    if name in NUMBERS:
        either.insert(0, {"key": key, "range": {"gte": number, "lte": number}})
    elif number is not None:
        either.append({"key": key, "match": {"value": number}})
    if value == "" or (name == "position" and number == 0):
        either.append({"is_empty": {"key": key}})
    return either


def _whole(value: str | int) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        number = int(value)
    except ValueError:
        return None
    return number if abs(number) < 2**63 and str(number) == str(value) else None


def passage_of(point: int | str | uuid.UUID, payload: Any) -> LibraryPassage:
    """The passage at a point."""
    return from_payload(str(point), payload if isinstance(payload, Mapping) else None)


def neighbour(
    point: int | str | uuid.UUID, payload: Any, score: float, vector: NDArray[np.float32]
) -> Neighbour:
    """A search result; its vector becomes read-only."""
    vector.flags.writeable = False
    return Neighbour(passage=passage_of(point, payload), score=score, vector=vector)


def largest_first(documents: Sequence[LibraryDocument], limit: int) -> tuple[LibraryDocument, ...]:
    """At most `limit` documents that have passages, most passages first."""
    largest = sorted(
        (document for document in documents if document.passages),
        key=lambda document: (-document.passages, document.source),
    )
    return tuple(largest[:limit])


# --- what is refused --------------------------------------------------------------------------------------


def checked_vectors(vectors: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """The vectors as contiguous float32, one for each of `count` passages.

    Raises:
        LibraryFailed: when there are more or fewer, or one is not finite.
    """
    array = np.ascontiguousarray(vectors, dtype=np.float32)
    if array.ndim != 2 or len(array) != count:
        raise LibraryFailed(
            f"{pluralize(count, 'passage')} came with vectors of shape {array.shape}.",
            hint="Embed each passage once.",
        )
    if not np.isfinite(array).all():
        raise LibraryFailed("A vector is not finite.", hint="Embed the passages again.")
    return array


def require_shape(collection: Collection, width: int) -> None:
    """Refuse a collection whose vectors are not of `width` dimensions under cosine distance.

    Raises:
        LibraryFailed: with the collection's shape and what to do.
    """
    other = "Choose another collection, or fill a new one from the same documents."
    if collection.distance == NAMED:
        raise LibraryFailed(
            f"The collection {collection.name} has several named vectors per passage, or no dense ones.",
            hint=other,
        )
    if collection.distance != COSINE:
        raise LibraryFailed(
            f"The collection {collection.name} compares by {collection.distance} distance; OpenQuery compares by cosine.",
            hint=other,
        )
    if collection.width != width:
        raise LibraryFailed(
            f"The collection {collection.name} has {pluralize(collection.width, 'dimension')}, the embedder's vectors have {width}.",
            hint="Choose the embedder that it was embedded with, or re-embed it.",
        )


def no_collection(name: str) -> CollectionMissing:
    """The error for a collection that does not exist."""
    return CollectionMissing(
        f"There is no collection {name}.", hint="It may have been deleted. Choose another, or add documents."
    )
