"""Per-host concurrency, shared fairly by runs, and back-off."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from cachetools import LRUCache

from core.adapters.web.fair_slots import FairSlots
from core.model import SkipReason, Unreadable
from core.run.page_request import Requester, current_request

_MAX_BACKOFF = 3600.0
"""Seconds of a host's back-off at most, so that no reply can shut a host out for ever."""
_SHARED_BACKOFF = 10.0
"""Seconds for which one refused run keeps the others from a host at most. Each further run that is refused before
the host answers again makes it six times as long."""
_MAX_HOSTS = 1_000
"""Hosts whose back-off is remembered."""


@dataclass(slots=True)
class _Backoff:
    """A host's requests to wait. Times are on the monotonic clock."""

    reason: str = ""
    shared_until: float = 0.0
    refused_runs: int = 0
    """Runs that were refused since the host last answered."""
    until: WeakKeyDictionary[Requester, float] = field(default_factory=WeakKeyDictionary)
    """For each run that was refused, the time that the host asked for."""


class HostLimits:
    """Concurrent requests in all and per host, and the hosts that asked for a pause. Runs take turns for both.

    A run that was asked to wait leaves the host alone for as long as it was asked, an hour at most. Other runs do
    so for a short time only, unless the host refuses them as well: one page, which may belong to anybody, cannot
    close its host to everyone.
    """

    def __init__(self, concurrency: int, per_host: int) -> None:
        self._all = FairSlots(concurrency, "a connection")
        self._per_host = per_host
        self._slots: dict[str, FairSlots] = {}
        self._backoffs: LRUCache[str, _Backoff] = LRUCache(_MAX_HOSTS)

    @asynccontextmanager
    async def slot(self, host: str) -> AsyncGenerator[None]:
        """Hold one of the host's slots and one of all slots, taken in this order.

        The host's slot first: a page that waits for a busy host must not keep a slot from other hosts.
        """
        slots = self._slots.setdefault(host, FairSlots(self._per_host, f"its turn at {host}"))
        try:
            async with slots.slot(), self._all.slot():
                yield
        finally:
            if slots.idle:
                self._slots.pop(host, None)

    def back_off(self, host: str, seconds: float, reason: str) -> None:
        """The host has asked the current run to wait for so many seconds."""
        backoff = self._backoffs.setdefault(host, _Backoff())
        requester, now = current_request().requester, time.monotonic()
        if backoff.until.get(requester, 0.0) <= now:
            backoff.refused_runs += 1
        asked = min(seconds, _MAX_BACKOFF)
        shared = min(asked, _SHARED_BACKOFF * 6 ** min(backoff.refused_runs - 1, 4))
        backoff.reason = reason
        backoff.until[requester] = now + asked
        backoff.shared_until = max(backoff.shared_until, now + shared)

    def answered(self, host: str) -> None:
        """The host has served a page: refusals before it do not count towards longer ones."""
        if backoff := self._backoffs.get(host):
            backoff.refused_runs = 0

    def check_backoff(self, host: str) -> None:
        """Raises Unreadable: STATUS while the host's back-off lasts for the current run."""
        if backoff := self._backoffs.get(host):
            until = max(backoff.until.get(current_request().requester, 0.0), backoff.shared_until)
            if (seconds := until - time.monotonic()) > 0:
                raise Unreadable(
                    SkipReason.STATUS, f"the site asked to wait for {seconds:.0f} s more ({backoff.reason})"
                )
