"""Manners towards hosts: how many requests at once, and when a host asked to be left alone."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.model import SkipReason, Unreadable

_LONGEST_REST = 3600.0
"""Seconds for which advice is followed at most, so that no reply can shut a host out for ever."""
_MOST_RESTING = 1_000


@dataclass(slots=True)
class _Places:
    gate: asyncio.Semaphore
    users: int = 0


class HostLimits:
    """Slots in all and per host, and the hosts that are resting."""

    def __init__(self, concurrency: int, per_host: int) -> None:
        self._all = asyncio.Semaphore(concurrency)
        self._per_host = per_host
        self._places: dict[str, _Places] = {}
        self._resting: OrderedDict[str, tuple[float, str]] = OrderedDict()

    @asynccontextmanager
    async def slot(self, host: str) -> AsyncGenerator[None]:
        """Hold one of the host's slots and one of all slots, taken in this order.

        The host's slot first: a page that waits for a busy host must not keep a place from other hosts.
        """
        places = self._places.setdefault(host, _Places(asyncio.Semaphore(self._per_host)))
        places.users += 1
        try:
            async with places.gate, self._all:
                yield
        finally:
            places.users -= 1
            if not places.users:
                del self._places[host]

    def rest(self, host: str, seconds: float, why: str) -> None:
        """Remember that the host asked to be left alone."""
        self._resting[host] = (time.monotonic() + min(seconds, _LONGEST_REST), why)
        self._resting.move_to_end(host)
        while len(self._resting) > _MOST_RESTING:
            self._resting.popitem(last=False)

    def refuse_resting(self, host: str) -> None:
        """Raises Unreadable: STATUS while the host is resting."""
        until, why = self._resting.get(host, (0.0, ""))
        left = until - time.monotonic()
        if left > 0:
            raise Unreadable(
                SkipReason.STATUS, f"the site asked to be left alone for {left:.0f} s more ({why})"
            )
        self._resting.pop(host, None)
