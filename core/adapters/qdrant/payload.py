"""The payload of a passage in a vector database: `{"content": …, "metadata": {…}}`.

Other tools fill collections in this shape too, so reading takes what it finds: a missing field is empty, a
field of another type is turned into text or left out, and unknown fields are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.model import LibraryPassage

TEXTS = ("source", "section", "url", "title", "created_at", "document", "embedder")
NUMBERS = ("page", "position")
FILTERS = (*TEXTS, *NUMBERS)
"""The metadata that a search can be filtered by."""


def to_payload(passage: LibraryPassage) -> dict[str, Any]:
    values = {name: getattr(passage, name) for name in FILTERS}
    return {"content": passage.content, "metadata": {k: v for k, v in values.items() if v not in ("", None)}}


def from_payload(point_id: str, payload: Mapping[str, Any] | None) -> LibraryPassage:
    """The passage at a point. Without a text as `content` it is empty."""
    payload = payload or {}
    stored = payload.get("metadata")
    metadata: Mapping[str, Any] = stored if isinstance(stored, Mapping) else {}
    content = payload.get("content")
    return LibraryPassage(
        id=point_id,
        content=content if isinstance(content, str) else "",
        page=_number(metadata.get("page")),
        position=_number(metadata.get("position")) or 0,
        **{name: _text(metadata.get(name)) for name in TEXTS},
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number < 10_000_000 else None
