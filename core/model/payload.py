"""How an excerpt is written down in a vector database: `{"content": …, "metadata": {…}}`.

Other tools fill collections in this shape too, so reading takes what it finds: a missing field is empty, a
field of another type is turned into text or left out, and unknown fields are ignored.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import Any

from core.errors import BadInput
from core.model import LibraryPassage

DEFAULT_COLLECTION = "book_content"

TEXTS = ("source", "section", "url", "title", "created_at", "document", "embedder")
NUMBERS = ("page", "position")
FILTERS = (*TEXTS, *NUMBERS)
"""The metadata that a search can be narrowed by."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SPACE = uuid.UUID("9a6e2f0c-64d5-4a38-9f5b-2c1a3f0a7d11")


def checked_name(name: str) -> str:
    """A collection's name without surrounding white space.

    Raises:
        BadInput: when it is not 1 to 100 letters, digits, dots, hyphens and underscores.
    """
    name = name.strip()
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"“{name[:100]}” cannot be a collection's name.",
            hint="Use 1 to 100 letters, digits, dots, hyphens and underscores, beginning with a letter or digit.",
        )
    return name


def excerpt_id(document: str, position: int, embedder: str) -> str:
    """The same excerpt of the same document by the same model has the same id: adding it twice is once."""
    return str(uuid.uuid5(_SPACE, f"{document}\0{position}\0{embedder}"))


def to_payload(excerpt: LibraryPassage) -> dict[str, Any]:
    values = {name: getattr(excerpt, name) for name in FILTERS}
    return {"content": excerpt.content, "metadata": {k: v for k, v in values.items() if v not in ("", None)}}


def from_payload(point_id: str, payload: Mapping[str, Any] | None) -> LibraryPassage:
    """The excerpt at a point. Without a content of text it is empty, and is found by nobody's words."""
    payload = payload or {}
    told = payload.get("metadata")
    metadata: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
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
