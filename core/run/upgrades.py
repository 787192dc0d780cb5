"""Upgrade of stored events, and of runs exported by format version 4, to the current field names."""

from typing import Any

EACH = "*"
"""In a path: every item of a list."""

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
    """Rename the fields of an event or an exported run, as JSON, in place, and return it.

    What has the current names is unchanged. Malformed parts are left for the reader to refuse.
    """
    for path, name in RENAMED_FIELDS:
        *parents, old = path.split(".")
        values: list[Any] = [document]
        for key in parents:
            if key == EACH:
                values = [item for value in values if isinstance(value, list) for item in value]
            else:
                values = [value[key] for value in values if isinstance(value, dict) and key in value]
        for value in values:
            if isinstance(value, dict) and old in value:
                value[name] = value.pop(old)
    return document
