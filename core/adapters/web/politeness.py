"""Concurrency per host, shared fairly by runs, and back-off."""

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
"""The maximum back-off of a host in seconds, so that no reply can block a host forever."""
_SHARED_BACKOFF = 10.0
"""The maximum seconds for which one refused run keeps the others from a host.

Each additional run that is refused before the host answers again multiplies it by six.
"""
_MAX_HOSTS = 1_000
"""The maximum number of hosts with a stored back-off."""
_MAX_PAGES = 100
"""The maximum number of stored refused pages per host."""


@dataclass(slots=True)
class _Backoff:
    """A host's requests to wait. Times are on the monotonic clock."""

    reason: str = ""
    pages: set[str] = field(default_factory=set)
    """URLs that were refused."""
    refused_in_a_row: int = 0
    """Newly refused pages since the host last answered."""
    shared_until: float = 0.0
    refused_runs: int = 0
    """Runs that were refused since the host last answered."""
    until: WeakKeyDictionary[Requester, float] = field(default_factory=WeakKeyDictionary)
    """The end of the back-off for each refused run."""


class HostLimits:
    """Limits of concurrent requests, in total and per host, and hosts that requested a pause.

    Runs take turns for both. A page that requests a pause is not fetched for that time, an hour at most. Its host is
    paused after a second refused page without a served page between them, because a single page, which anybody may own,
    must not close its host. Runs that were not refused themselves pause for a short time only.
    """

    def __init__(self, concurrency: int, per_host: int) -> None:
        self._all = FairSlots(concurrency, "a connection")
        self._per_host = per_host
        self._slots: dict[str, FairSlots] = {}
        self._backoffs: LRUCache[str, _Backoff] = LRUCache(_MAX_HOSTS)

    @asynccontextmanager
    async def slot(self, host: str) -> AsyncGenerator[None]:
        """Hold a slot of the host and an overall slot.

        The host's slot is first: a page that waits for a busy host must not keep a slot from other hosts.
        """
        slots = self._slots.setdefault(host, FairSlots(self._per_host, f"its turn at {host}"))
        try:
            async with slots.slot(), self._all.slot():
                yield
        finally:
            if slots.idle:
                self._slots.pop(host, None)

    def back_off(self, host: str, url: str, seconds: float, reason: str) -> None:
        """Record that a page asked the current run to wait."""
        backoff = self._backoffs.setdefault(host, _Backoff())
        requester, current_time = current_request().requester, time.monotonic()
        if backoff.until.get(requester, 0.0) <= current_time:
            backoff.refused_runs += 1
        if url not in backoff.pages:
            backoff.refused_in_a_row += 1
            if len(backoff.pages) < _MAX_PAGES:
                backoff.pages.add(url)
        pause = min(seconds, _MAX_BACKOFF)
        shared = min(pause, _SHARED_BACKOFF * 6 ** min(backoff.refused_runs - 1, 4))
        backoff.reason = reason
        backoff.until[requester] = current_time + pause
        backoff.shared_until = max(backoff.shared_until, current_time + shared)

    def answered(self, host: str) -> None:
        """Record that the host has served a page. Earlier refusals then concern only their own pages."""
        if backoff := self._backoffs.get(host):
            backoff.refused_runs = backoff.refused_in_a_row = 0

    def check_backoff(self, host: str, url: str) -> None:
        """Check the back-off for the current run.

        Raises:
            Unreadable: STATUS while the back-off of the page or its host lasts.
        """
        backoff = self._backoffs.get(host)
        if backoff and (url in backoff.pages or backoff.refused_in_a_row > 1):
            until = max(backoff.until.get(current_request().requester, 0.0), backoff.shared_until)
            if (seconds := until - time.monotonic()) > 0:
                raise Unreadable(
                    SkipReason.STATUS, f"the site asked to wait for {seconds:.0f} s more ({backoff.reason})"
                )
