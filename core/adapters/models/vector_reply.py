"""Read the vectors of an embedding reply, in the forms of OpenAI, Gemini, Ollama, Cohere, llama.cpp and TEI."""

import binascii
from collections.abc import Sequence
from typing import Any

import numpy as np
import pybase64
from numpy.typing import NDArray

from core.text.sanitize import pluralize

_LISTS = ("data", "embeddings")
_URL_SAFE = str.maketrans("-_", "+/", "\r\n\t ")


def has_vectors(body: Any) -> bool:
    """Return whether a reply is meant to have vectors."""
    if isinstance(body, dict):
        return any(name in body for name in _LISTS)
    first = body[0] if isinstance(body, list) and body else None
    return isinstance(first, list) or (isinstance(first, dict) and "embedding" in first)


def vector_rows(body: Any) -> Any:
    """Return the rows of a reply, usually a list."""
    if not isinstance(body, dict):
        return body
    rows = next(body[name] for name in _LISTS if name in body)
    return rows.get("float") if isinstance(rows, dict) else rows


def unit_vectors(rows: Any, count: int) -> NDArray[np.float32]:
    """Return the unit vectors of `count` texts, in the texts' order.

    Raises:
        ValueError: for anything but one finite, non-zero vector of the same width for each text. The message says what
            the server did, to be put after its name.
    """
    if not isinstance(rows, list) or len(rows) != count:
        given = pluralize(len(rows), "vector") if isinstance(rows, list) else "no vectors"
        raise ValueError(f"gave {given} for {pluralize(count, 'text')}")
    try:
        decoded = [_vector(row["embedding"] if isinstance(row, dict) else row) for row in rows]
        indexes = [_index(row.get("index")) if isinstance(row, dict) else None for row in rows]
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise ValueError("gave vectors in an unknown form") from error
    order = _order(indexes)
    if sorted(order) != list(range(count)):
        raise ValueError("did not say which vector belongs to which text")
    if len({len(vector) for vector in decoded}) != 1 or not len(decoded[0]):
        raise ValueError("gave vectors of different widths")
    vectors = np.empty((count, len(decoded[0])), dtype=np.float32)
    for index, vector in zip(order, decoded, strict=True):
        vectors[index] = vector
    with np.errstate(over="ignore", invalid="ignore"):  # checked on the next line
        lengths = np.sqrt(np.vecdot(vectors, vectors))[:, None]
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError("gave vectors that are not finite or have no length")
    vectors /= lengths
    return vectors


def _index(value: Any) -> int | None:
    """Return an index, which may be written as text, or None without one."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(f"{type(value).__name__} instead of an index")
    return int(value)


def _order(indexes: Sequence[int | None]) -> list[int]:
    """Return the text of each row.

    Rows without an index, or all with index 0, are in the texts' order. A single row without one is the first, because
    Gemini leaves out a 0. Indexes may count from 1.
    """
    places = list(range(len(indexes)))
    known = {index for index in indexes if index is not None}
    if not known or (known == {0} and None not in indexes):
        return places
    order = [0 if index is None else index for index in indexes]
    if len(places) > 1 and sorted(order) == [place + 1 for place in places]:
        return [index - 1 for index in order]
    return order


def _vector(value: Any) -> NDArray[np.float32]:
    if isinstance(value, str):
        return np.frombuffer(_bytes(value), dtype="<f4")
    with np.errstate(over="ignore"):  # infinite values are refused with the others
        vector = np.asarray(value, dtype=np.float32)
    if vector.ndim == 2 and len(vector) == 1:  # llama.cpp: one vector in a list
        vector = vector[0]
    if vector.ndim != 1:
        raise ValueError("not a row of numbers")
    return vector


def _bytes(value: str) -> bytes:
    """Decode base64, also its form for addresses, with line ends, or without padding."""
    try:
        return pybase64.b64decode(value, validate=True)
    except (ValueError, binascii.Error):
        plain = value.translate(_URL_SAFE).rstrip("=")
        return pybase64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
