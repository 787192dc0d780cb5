"""Upgrade of stored events, and of runs exported by format version 4, to the current field names."""

from typing import Any

EACH = "*"
"""The path part for every item of a list."""

RENAMED_FIELDS: tuple[tuple[str, str], ...] = (
    ("page.article.suspicions", "injection_signs"),
    ("pages.*.article.suspicions", "injection_signs"),
    ("index.lost", "not_embedded"),
    ("index.speaks", "embedder_languages"),
    ("spent", "usage"),
    ("usage.usage", "tokens"),
    ("model_usage.*.spent", "usage"),
    ("model_usage.*.usage.usage", "tokens"),
    ("reply.silent", "unresponsive_engines"),
    ("replies.*.reply.silent", "unresponsive_engines"),
    ("reply.unknown", "unknown_engines"),
    ("replies.*.reply.unknown", "unknown_engines"),
    ("reply.spent", "usage"),
    ("reply.usage.usage", "tokens"),
    ("replies.*.reply.spent", "usage"),
    ("replies.*.reply.usage.usage", "tokens"),
)
"""Paths of fields in an event or in an exported run, with their current names."""


def upgrade(document: dict[str, Any]) -> dict[str, Any]:
    """Update an event or run in JSON in place. Returns the same object.

    Fields are renamed. Digests of a text that was left out of a file become `text_left_out`, unless earlier versions
    had fetched the whole text again. Current names are unchanged. Malformed parts are left for the reader to reject.
    """
    for path, name in RENAMED_FIELDS:
        parents, _, old = path.rpartition(".")
        for value in _at(document, parents):
            if isinstance(value, dict) and old in value:
                value[name] = value.pop(old)
    for article in _at(document, "page.article") + _at(document, "pages.*.article"):
        digests = article.pop("digests", None) if isinstance(article, dict) else None
        if isinstance(digests, dict):
            article["text_left_out"] = digests.get("whole") is not True
    return document


def _at(document: dict[str, Any], path: str) -> list[Any]:
    """Return the values at a path. An empty path means the document itself."""
    values: list[Any] = [document]
    for key in path.split(".") if path else ():
        if key == EACH:
            values = [item for value in values if isinstance(value, list) for item in value]
        else:
            values = [value[key] for value in values if isinstance(value, dict) and key in value]
    return values
