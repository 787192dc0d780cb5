"""Search with fallback: the first backend that works answers the whole run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from core.config.knobs import SearchKnobs
from core.errors import SearchFailed
from core.model import SearchReply
from core.ports import Search


class FallbackSearch:
    """The `Search` port over named backends. One instance belongs to one run.

    The first query tries them in order while the others wait, and the first that answers is used from then on, even when
    it finds nothing. If it breaks later, that query has failed: a run must not mix backends unseen.

    Raises:
        SearchFailed: when none works, for every query of the run, without asking again.
    """

    def __init__(self, backends: Sequence[tuple[str, Search]]) -> None:
        self._backends = tuple(backends)
        self._probing = asyncio.Lock()
        self._chosen: tuple[str, Search] | None = None
        self._failure: SearchFailed | None = None
        self._skipped: tuple[tuple[str, str], ...] = ()

    @property
    def identity(self) -> str:
        """Every candidate, in order; once one has answered, that one alone."""
        backends = [self._chosen] if self._chosen else self._backends
        return "first of: " + ", ".join(backend.identity for _, backend in backends)

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        async with self._probing:
            if self._chosen is None:
                return await self._probe(query, knobs)
            name, backend = self._chosen
        return replace(await backend(query, knobs), backend=name, passed=self._skipped)

    async def _probe(self, query: str, knobs: SearchKnobs) -> SearchReply:
        if self._failure:
            raise self._failure
        passed: list[tuple[str, SearchFailed]] = []
        for name, backend in self._backends:
            try:
                reply = await backend(query, knobs)
            except SearchFailed as error:
                passed.append((name, error))
                continue
            self._chosen = (name, backend)
            self._skipped = tuple((skipped_name, why.message) for skipped_name, why in passed)
            return replace(reply, backend=name, passed=self._skipped)
        reasons = " ".join(f"{name}: {error.message}" for name, error in passed)
        hint = passed[0][1].hint if passed else "Connect a SearXNG with SEARXNG_URL."
        self._failure = SearchFailed(f"No search backend works. {reasons}".strip(), hint=hint)
        raise self._failure
