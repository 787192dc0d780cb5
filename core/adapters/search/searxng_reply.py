"""SearXNG's JSON reply as values. Malformed parts are left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from core.model import Result
from core.text.lenient_json import lenient_json
from core.text.sanitize import one_line

TITLE_LIMIT, SNIPPET_LIMIT, URL_LIMIT = 300, 2_000, 4_000
"""Characters. Longer titles and snippets are cut, rows with longer addresses dropped."""


def read_json(body: bytes) -> Any:
    """The value, or None for anything that is no JSON."""
    try:
        return lenient_json(body)
    except ValueError:
        return None


def results(reply: Mapping[str, Any]) -> tuple[Result, ...]:
    """The rows with an http address, ranked from 1 as they stand; other rows are left out."""
    rows = [
        row for row in listed(reply.get("results")) if isinstance(row, dict) and _is_address(row.get("url"))
    ]
    return tuple(_result(row, rank) for rank, row in enumerate(rows, 1))


def unresponsive_engines(reply: Mapping[str, Any]) -> dict[str, str]:
    """Engines that did not answer, with the reason they gave."""
    pairs = [pair for pair in listed(reply.get("unresponsive_engines")) if isinstance(pair, list)]
    return {line(pair[0], 60): line(pair[1], 200) for pair in pairs if len(pair) == 2}


def listed(value: object) -> list[Any]:
    """A list as it is; anything else as an empty one."""
    return value if isinstance(value, list) else []


def line(value: object, limit: int) -> str:
    """Text as one line of at most `limit` characters; anything else as nothing."""
    return one_line(value[: 4 * limit], limit) if isinstance(value, str) else ""


def _result(row: Mapping[str, Any], rank: int) -> Result:
    names = listed(row.get("engines")) or [row.get("engine")]
    engines = [line(name, 60) for name in names]
    return Result(
        url=row["url"].strip(),
        title=line(row.get("title"), TITLE_LIMIT),
        snippet=line(row.get("content"), SNIPPET_LIMIT),
        rank=rank,
        engines=tuple(name for name in engines if name),
        published=line(row.get("publishedDate"), 40) or None,
    )


def _is_address(url: object) -> bool:
    if not isinstance(url, str) or len(url) > URL_LIMIT:
        return False
    try:
        url.encode()  # half a surrogate pair is in no address
        parts = urlsplit(url.strip())
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
