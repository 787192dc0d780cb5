"""What SearXNG's JSON says, as values: results of a search, and the configuration of an instance. Malformed parts are left out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from cachetools import LRUCache, TTLCache

from core.config.knobs import SearchKnobs
from core.errors import SearchFailed
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
        row for row in listed(reply.get("results")) if isinstance(row, dict) and is_address(row.get("url"))
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


def is_address(url: object) -> TypeGuard[str]:
    """Whether this is the address of a web page, of a length that is kept."""
    if not isinstance(url, str) or len(url) > URL_LIMIT:
        return False
    try:
        url.encode()  # half a surrogate pair is in no address
        parts = urlsplit(url.strip())
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


INSTANCES = 64
"""Instances that are remembered."""

KEPT_SECONDS = 600.0
"""How long, so that an engine that is added is known soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceConfig:
    """`engines` has all names, also of those that are asked only when they are named; `enabled` counts the others."""

    version: str
    engines: frozenset[str]
    enabled: int
    categories: frozenset[str]
    limiter: bool
    """Whether the instance limits the requests of each address."""

    @classmethod
    def parse(cls, body: bytes) -> InstanceConfig | None:
        """The body of a `/config` reply; None when it is none."""
        config = read_json(body)
        if not isinstance(config, dict):
            return None
        engines = [row for row in listed(config.get("engines")) if isinstance(row, dict)]
        limiter = config.get("limiter")
        return cls(
            version=line(config.get("version"), 40),
            engines=frozenset(name for row in engines if isinstance(name := row.get("name"), str)),
            enabled=sum(bool(row.get("enabled")) for row in engines),
            categories=frozenset(name for name in listed(config.get("categories")) if isinstance(name, str)),
            limiter=isinstance(limiter, dict) and bool(limiter.get("enabled")),
        )

    def unknown_engines(self, knobs: SearchKnobs) -> tuple[str, ...]:
        """The engines and categories of the knobs that the instance does not have."""
        requested = ((knobs.engines, self.engines), (knobs.categories, self.categories))
        return tuple(
            name for names, offered in requested if offered for name in _named(names) if name not in offered
        )


class Instances:
    """What is known of each instance by its address: its configuration, and whether its latest search failed."""

    def __init__(self) -> None:
        self._known: TTLCache[str, InstanceConfig | None] = TTLCache(INSTANCES, KEPT_SECONDS)
        self._asking: LRUCache[str, asyncio.Lock] = LRUCache(INSTANCES)
        self.failures: TTLCache[str, SearchFailed] = TTLCache(INSTANCES, KEPT_SECONDS)
        """Why the latest search failed, by address; none where it did not, or long ago."""

    async def get(
        self, url: str, ask: Callable[[], Awaitable[InstanceConfig | None]]
    ) -> InstanceConfig | None:
        """Return the configuration, asked for once in ten minutes, or None if the instance does not tell."""
        async with self._asking.setdefault(url, asyncio.Lock()):
            if url not in self._known:
                self._known[url] = await ask()
            return self._known.get(url)


def _named(names: str) -> list[str]:
    return [name for part in names.split(",") if (name := part.strip())]
