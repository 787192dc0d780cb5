"""The payload of a passage in a vector database.

OpenQuery writes `{"content": …, "metadata": {…}}`. It also reads other tools' payloads: the text under another name
(`CONTENT`), metadata in a mapping, next to the text or both, and well-known fields under other names (`NAMES`).
`LibraryPassage.metadata` keeps the payload as it was written, and the other fields are OpenQuery's interpretation.
"""

import json
from collections.abc import Mapping
from typing import Any

from core.model import LibraryPassage

TEXTS = ("source", "section", "url", "title", "created_at", "document", "embedder")
NUMBERS = ("page", "position")
FILTERS = (*TEXTS, *NUMBERS)
"""The metadata fields that a search can be filtered by."""

WRITTEN = (*FILTERS, "author", "language")
"""The fields of a passage that are in its metadata."""

CONTENT = ("content", "page_content", "text", "body", "document")
"""Names of the text: OpenQuery's and Haystack's, LangChain's, many scripts', and the Qdrant client's."""

NODE = "_node_content"
"""LlamaIndex's name of a JSON document with the text and all other data. Its metadata is in the payload too."""

METADATA = ("metadata", "meta")
"""Names of a mapping with the metadata. Haystack uses the second."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "source": ("source", "file_name", "filename", "file_path"),
    "url": ("url", "source_url", "link"),
    "title": ("title", "document_title"),
    "section": ("section", "heading"),
    "created_at": ("created_at", "creation_date", "published_at", "published", "date"),
    "language": ("language", "lang"),
    # LangChain counts `page` from 0, and stores the printed number in `page_label`.
    "page": ("page_label", "page", "page_number"),
}
"""The names of a field in order of preference. Any other field has only its own name."""


def to_payload(passage: LibraryPassage) -> dict[str, Any]:
    """Build the payload to store. Data of another tool is unchanged unless the passage was changed."""
    values = {name: getattr(passage, name) for name in WRITTEN}
    as_read = _read(passage.metadata) if passage.metadata else {}
    changed = {
        name: value
        for name, value in values.items()
        if value not in ("", None) and value != as_read.get(name, "")
    }
    return {"content": passage.content, "metadata": {**passage.metadata, **changed}}


def from_payload(point_id: str, payload: Mapping[str, Any] | None) -> LibraryPassage:
    """Read the passage at a point. Its content is empty if the payload has no text under a known name."""
    payload = payload or {}
    name, content = _content(payload)
    rest = {key: value for key, value in payload.items() if key not in (name, NODE)}
    metadata = dict(rest)
    for key in METADATA:
        if isinstance(nested := rest.get(key), Mapping):
            del metadata[key]
            metadata |= nested
    return LibraryPassage(id=point_id, content=content, metadata=metadata, **_read(metadata))


def _content(payload: Mapping[str, Any]) -> tuple[str, str]:
    for name in CONTENT:
        if isinstance(text := payload.get(name), str) and text:
            return name, text
    node = payload.get(NODE)
    if isinstance(node, str):
        try:
            read = json.loads(node)
        except (ValueError, RecursionError):
            return CONTENT[0], ""
        if isinstance(read, Mapping) and isinstance(text := read.get("text"), str):
            return NODE, text
    return CONTENT[0], ""


def _read(metadata: Mapping[str, Any]) -> dict[str, Any]:
    def first_text(name: str) -> str:
        texts = (_text(metadata.get(key)) for key in NAMES.get(name, (name,)))
        return next((text for text in texts if text), "")

    pages = (_number(metadata.get(key)) for key in NAMES["page"])
    fields: dict[str, Any] = {name: first_text(name) for name in WRITTEN if name not in NUMBERS}
    fields["page"] = next((page for page in pages if page is not None), None)
    fields["position"] = _number(metadata.get("position")) or 0
    return fields


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
