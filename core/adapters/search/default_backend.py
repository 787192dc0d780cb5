"""Which backend searches the web in a process that no SearXNG is connected to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from core.adapters.search.ddgs_search import engines_reachable
from core.config.knobs import Backend

REACHABLE_SECONDS = 600.0
UNREACHABLE_SECONDS = 30.0
"""How long an outcome is remembered. A network that comes back should be used soon."""


class DefaultBackend:
    """ddgs where a public search engine is reachable, else the demo library.

    The choice is made without a query, so it can be shown before the first question, and it is the same for
    every query of a run.
    """

    def __init__(self, reachable: Callable[[], Awaitable[bool]] = engines_reachable) -> None:
        self._reachable = reachable
        self._choosing = asyncio.Lock()
        self._chosen = Backend.DEMO
        self._until = 0.0

    async def choose(self) -> Backend:
        """The remembered choice, or a new one when it is too old. Takes at most 1.5 seconds."""
        async with self._choosing:
            if time.monotonic() >= self._until:
                reachable = await self._reachable()
                self._chosen = Backend.DDGS if reachable else Backend.DEMO
                self._until = time.monotonic() + (REACHABLE_SECONDS if reachable else UNREACHABLE_SECONDS)
            return self._chosen
