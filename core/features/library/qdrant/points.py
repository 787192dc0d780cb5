"""Ids, filters and vectors of points for both Qdrant adapters, and the checks of both."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput, CollectionMissing, LibraryFailed
from core.features.library.qdrant.payload import FILTERS, NUMBERS, from_payload
from core.model import Collection, LibraryDocument, LibraryPassage, Neighbour
from core.text.sanitize import pluralize

SOURCE, DOCUMENT, PAGE = "metadata.source", "metadata.document", "metadata.page"
KEYWORDS = (SOURCE, DOCUMENT)
INTEGERS = (PAGE,)
"""The indexed payload fields: documents are counted and searches filtered by them."""

COSINE = "cosine"
NAMED = "named vectors"
"""`Collection.distance`, with a width of 0, of a collection with several vectors per point."""

MOST = 10_000
"""The maximum number of passages that one call returns."""

_LARGEST_ID = 2**64 - 1


def point_id(text: str) -> int | str | None:
    """Convert an id to Qdrant's number or UUID. None if no point can have it."""
    if text.isascii() and text.isdecimal() and len(text) <= 20:
        number = int(text)
        return number if number <= _LARGEST_ID and str(number) == text else None
    try:
        return str(uuid.UUID(text)) if len(text) == 36 else None
    except ValueError:
        return None


def point_ids(passages: Sequence[LibraryPassage]) -> list[int | str]:
    """Convert the passages' ids to Qdrant's.

    Raises:
        LibraryFailed: for an id that no point can have.
    """
    ids: list[int | str] = []
    for passage in passages:
        point = point_id(passage.id)
        if point is None:
            raise LibraryFailed(f"{passage.id[:60]!r} cannot be a passage's id.", hint="Use a UUID.")
        ids.append(point)
    return ids


def filter_of(where: Mapping[str, str | int] | None, *, plain: bool = False) -> dict[str, Any] | None:
    """Build Qdrant's filter for metadata that equals `where`.

    Other tools write 3, 3.0 or "3" for page 3, so all of them match. An empty text matches a missing value. A `plain`
    filter matches only OpenQuery's form, which a payload index can answer.

    Raises:
        BadInput: for metadata that does not support filters.
    """
    if not where:
        return None
    alternatives = [_alternatives(name, value) for name, value in where.items()]
    return {"must": [{"should": either[:1] if plain else either} for either in alternatives]}


def equals(key: str, value: str) -> dict[str, Any]:
    """Build the filter for a text at `key`. An empty text matches a missing value too."""
    either: list[dict[str, Any]] = [{"key": key, "match": {"value": value}}]
    return {"must": [{"should": either if value else [*either, {"is_empty": {"key": key}}]}]}


def without_source() -> dict[str, Any]:
    """Build the filter for passages without document and source."""
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
    """Read the passage at a point."""
    return from_payload(str(point), payload if isinstance(payload, Mapping) else None)


def neighbour(
    point: int | str | uuid.UUID, payload: Any, score: float, vector: NDArray[np.float32]
) -> Neighbour:
    """Build a search result. Its vector becomes read-only."""
    vector.flags.writeable = False
    return Neighbour(passage=passage_of(point, payload), score=score, vector=vector)


def largest_first(documents: Sequence[LibraryDocument], limit: int) -> tuple[LibraryDocument, ...]:
    """Sort documents by passages and keep `limit`. Documents without passages are dropped."""
    largest = sorted(
        (document for document in documents if document.passages),
        key=lambda document: (-document.passages, document.source),
    )
    return tuple(largest[:limit])


# --- what is refused --------------------------------------------------------------------------------------


def checked_vectors(vectors: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Check the vectors of `count` passages. They are returned as contiguous float32.

    Raises:
        LibraryFailed: when their number differs, or one is not finite.
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
    """Check that a collection has cosine vectors of `width`.

    Raises:
        LibraryFailed: with the collection's shape and the remedy.
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
    """Return the error for a missing collection."""
    return CollectionMissing(
        f"There is no collection {name}.", hint="It may have been deleted. Choose another, or add documents."
    )
