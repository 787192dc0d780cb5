"""Per-host concurrency and back-off."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from cachetools import TLRUCache

from core.model import SkipReason, Unreadable

_MAX_BACKOFF = 3600.0
"""Seconds of a host's back-off at most, so that no reply can shut a host out for ever."""
_MAX_HOSTS = 1_000
"""Hosts whose back-off is remembered."""


@dataclass(slots=True)
class _HostSlots:
    semaphore: asyncio.Semaphore
    users: int = 0


class _Backoff(NamedTuple):
    until: float
    """On the monotonic clock."""
    reason: str


class HostLimits:
    """Concurrent requests in all and per host, and the hosts that asked for a pause."""

    def __init__(self, concurrency: int, per_host: int) -> None:
        self._all = asyncio.Semaphore(concurrency)
        self._per_host = per_host
        self._slots: dict[str, _HostSlots] = {}
        self._backoffs: TLRUCache[str, _Backoff] = TLRUCache(
            _MAX_HOSTS, ttu=lambda _host, backoff, _now: backoff.until, timer=time.monotonic
        )

    @asynccontextmanager
    async def slot(self, host: str) -> AsyncGenerator[None]:
        """Hold one of the host's slots and one of all slots, taken in this order.

        The host's slot first: a page that waits for a busy host must not keep a slot from other hosts.
        """
        slots = self._slots.setdefault(host, _HostSlots(asyncio.Semaphore(self._per_host)))
        slots.users += 1
        try:
            async with slots.semaphore, self._all:
                yield
        finally:
            slots.users -= 1
            if not slots.users:
                del self._slots[host]

    def back_off(self, host: str, seconds: float, reason: str) -> None:
        """Send the host no request for so many seconds, at most an hour."""
        self._backoffs[host] = _Backoff(time.monotonic() + min(seconds, _MAX_BACKOFF), reason)

    def check_backoff(self, host: str) -> None:
        """Raises Unreadable: STATUS while the host's back-off lasts."""
        if backoff := self._backoffs.get(host):
            seconds = backoff.until - time.monotonic()
            raise Unreadable(
                SkipReason.STATUS, f"the site asked to wait for {seconds:.0f} s more ({backoff.reason})"
            )
