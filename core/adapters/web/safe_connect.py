"""Connect only to checked addresses.

Each name is resolved once. Its addresses are checked, then used unchanged for connecting. httpcore uses its network
backend for every new connection (a first request, a redirect, a retry, an empty pool), so no request can bypass this
module. httpcore starts TLS with the name, so certificate and SNI still refer to the name.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

import httpcore

from core.adapters.daemon_thread import in_daemon_thread
from core.adapters.web.networks import Address, AddressAllowlist
from core.adapters.web.safe_url import check_address
from core.model import SkipReason, Unreadable

_STAGGER = 0.25
"""Seconds before the next address is tried in parallel (RFC 8305)."""
_MAX_ADDRESSES = 8

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Resolve a name to address literals, preferred first. Raises `Unreadable`: NETWORK without any."""


@dataclass(slots=True)
class ConnectionAttempt:
    """The progress of one request. It shows where the time was spent, and whether to retry."""

    step: str = "connecting"
    opened: bool = False
    """Whether this request opened its connection. A failure is then not due to a stale connection."""


CONNECTION_ATTEMPT: ContextVar[ConnectionAttempt | None] = ContextVar("connection_attempt", default=None)


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """httpcore's own TCP, with a check of every address before connecting."""

    def __init__(self, allowlist: AddressAllowlist, resolve: Resolve | None = None) -> None:
        self._allowlist = allowlist
        self._resolve = resolve or resolve_with_system
        self._tcp = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature; the page's one clock rules
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first of the host's addresses that answers. All of them are checked before.

        Raises:
            Unreadable: BLOCKED when any address is not allowed, NETWORK when the host has none.
            httpcore.ConnectError: when no address answers.
        """
        progress = CONNECTION_ATTEMPT.get() or ConnectionAttempt()
        progress.opened = True
        progress.step = "looking up the name"
        literals = await self._addresses(host, port)
        addresses = _interleave_families([check_address(ip, host, port, self._allowlist) for ip in literals])
        progress.step = "connecting"
        if len(addresses) == 1:
            stream = await self._tcp.connect_tcp(str(addresses[0]), port)
        else:
            stream = await self._race(addresses, port)
        progress.step = "waiting for the first byte"
        return stream

    async def _addresses(self, host: str, port: int) -> list[str]:
        try:
            return [str(ipaddress.ip_address(host))]
        except ValueError:
            return (await self._resolve(host, port))[:_MAX_ADDRESSES]

    async def _race(self, addresses: list[Address], port: int) -> httpcore.AsyncNetworkStream:
        """Connect to addresses in parallel, until one succeeds.

        Attempts start `_STAGGER` apart, or at once after a failure.
        """
        waiting = list(addresses)
        under_way: set[asyncio.Task[httpcore.AsyncNetworkStream]] = set()
        failure: BaseException | None = None
        try:
            while waiting or under_way:
                if waiting:
                    address = str(waiting.pop(0))
                    under_way.add(asyncio.create_task(self._tcp.connect_tcp(address, port)))
                finished, under_way = await asyncio.wait(
                    under_way, timeout=_STAGGER if waiting else None, return_when=asyncio.FIRST_COMPLETED
                )
                for attempt in finished:
                    failure = attempt.exception()
                    if failure is None:
                        under_way |= finished - {attempt}
                        return attempt.result()
        finally:
            await _cancel_attempts(under_way)
        raise failure or httpcore.ConnectError("no address answered")


async def _cancel_attempts(attempts: Iterable[asyncio.Task[httpcore.AsyncNetworkStream]]) -> None:
    attempts = list(attempts)
    for attempt in attempts:
        attempt.cancel()
    for result in await asyncio.gather(*attempts, return_exceptions=True):
        if not isinstance(result, BaseException):
            await result.aclose()


async def resolve_with_system(host: str, port: int) -> list[str]:
    """Resolve the host to address literals. They have the system's order of preference.

    Raises:
        Unreadable: NETWORK when the host has none.
    """

    def look_up() -> list[str]:
        rows = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(row[4][0]) for row in rows))

    try:
        addresses = await in_daemon_thread(f"resolve {host}", look_up)
    except (OSError, UnicodeError) as error:
        raise Unreadable(SkipReason.NETWORK, f"the name {host} does not resolve") from error
    if not addresses:
        raise Unreadable(SkipReason.NETWORK, f"the name {host} has no address")
    return addresses


def _interleave_families(addresses: list[Address]) -> list[Address]:
    """Alternate the address families, so that a dead family costs one stagger. The system's first choice is first."""
    first = addresses[0].version
    own = [address for address in addresses if address.version == first]
    other = [address for address in addresses if address.version != first]
    return [address for address in chain.from_iterable(zip_longest(own, other)) if address is not None]
