"""What SearXNG instances say of themselves at `/config`: engines, categories, the limiter."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cachetools import LRUCache, TTLCache

from core.adapters.search.searxng_reply import line, listed, read_json
from core.config.knobs import SearchKnobs

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


class InstanceConfigs:
    """The configuration of each instance by its address, asked for once and remembered for ten minutes."""

    def __init__(self) -> None:
        self._known: TTLCache[str, InstanceConfig | None] = TTLCache(INSTANCES, KEPT_SECONDS)
        self._asking: LRUCache[str, asyncio.Lock] = LRUCache(INSTANCES)

    async def get(
        self, url: str, ask: Callable[[], Awaitable[InstanceConfig | None]]
    ) -> InstanceConfig | None:
        """What is remembered, else what `ask` returns; None where an instance does not tell."""
        async with self._asking.setdefault(url, asyncio.Lock()):
            if url not in self._known:
                self._known[url] = await ask()
            return self._known.get(url)


def _named(names: str) -> list[str]:
    return [name for part in names.split(",") if (name := part.strip())]
