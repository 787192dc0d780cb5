"""HTTP transport: pooled connections to checked addresses, one TLS context, raw replies."""

from __future__ import annotations

import ssl
import urllib.request
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import certifi
import httpcore

from core.adapters.web.networks import AddressAllowlist
from core.adapters.web.safe_connect import CONNECTION_ATTEMPT, CheckedBackend, ConnectionAttempt, Resolve
from core.adapters.web.safe_url import SafeUrl

_KEEP_ALIVE = 30.0
_ACCEPT = b"text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.8,*/*;q=0.5"


class Reply(NamedTuple):
    """A reply. `headers` have lower-case names, and the first of repeated headers. `chunks` is the raw body."""

    status: int
    headers: dict[str, str]
    chunks: AsyncGenerator[bytes]


class Transport:
    """Connection pools, one for each origin and for each of the environment's proxies.

    httpcore compares every connection of a pool with all others whenever a request begins or ends. With a hundred sites
    in a single pool that cost 10 ms of CPU a page. At most `max_pools` pools stay open between requests. They have no
    limit of their own, because the client's slots are the limit and a second limit could only deadlock. Nothing is
    built before the first request, since a TLS context costs tens of milliseconds of CPU.
    """

    def __init__(
        self,
        *,
        allowlist: AddressAllowlist,
        user_agent: str,
        max_pools: int,
        trust_env: bool,
        tls: ssl.SSLContext | None,
        resolve: Resolve | None = None,
    ) -> None:
        self._allowlist = allowlist
        self._resolve = resolve
        self._user_agent = user_agent.encode("ascii", errors="replace")
        self._max_pools = max_pools
        self._trust_env = trust_env
        self._custom_tls = tls
        self._pools: OrderedDict[str, httpcore.AsyncConnectionPool] = OrderedDict()

    async def aclose(self) -> None:
        """Close the connections."""
        for pool in self._pools.values():
            await pool.aclose()

    @asynccontextmanager
    async def get(self, target: SafeUrl, attempt: ConnectionAttempt) -> AsyncGenerator[Reply]:
        """Send a GET request. A body that is not read to its end is closed.

        Raises httpcore's exceptions, and `Unreadable` from the check of addresses.
        """
        attempt.step, attempt.opened = "waiting for the first byte", False
        url = httpcore.URL(
            scheme=target.scheme, host=target.host, port=target.port, target=target.path.encode("ascii")
        )
        request_headers = [
            (b"Host", target.authority.encode("ascii")),
            (b"User-Agent", self._user_agent),
            (b"Accept", _ACCEPT),
            (b"Accept-Encoding", b"gzip, deflate"),
        ]
        await self._close_idle_pools()
        CONNECTION_ATTEMPT.set(attempt)
        async with (
            self._pool(target).stream("GET", url, headers=request_headers) as response,
            _close_unless_read(response) as body,
        ):
            # Reversed, so that the first of repeated headers is kept.
            pairs = reversed(response.headers)
            headers = {name.decode("latin-1").lower(): _decode_header(value) for name, value in pairs}
            yield Reply(response.status, headers, body)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        if self._custom_tls is not None:
            return self._custom_tls
        context = ssl.create_default_context()
        context.load_verify_locations(certifi.where())
        return context

    def _pool(self, target: SafeUrl) -> httpcore.AsyncConnectionPool:
        proxy = proxy_for(target.scheme, target.host) if self._trust_env else None
        name = proxy.url if proxy else target.origin
        if name not in self._pools:
            self._pools[name] = self._proxied(proxy) if proxy else self._direct()
        self._pools.move_to_end(name)
        return self._pools[name]

    def _direct(self) -> httpcore.AsyncConnectionPool:
        return httpcore.AsyncConnectionPool(
            ssl_context=self._tls,
            max_connections=None,
            keepalive_expiry=_KEEP_ALIVE,
            http2=True,
            network_backend=CheckedBackend(self._allowlist, self._resolve),
        )

    def _proxied(self, proxy: Proxy) -> httpcore.AsyncConnectionPool:
        return httpcore.AsyncHTTPProxy(
            proxy.url,
            proxy_auth=proxy.credentials,
            ssl_context=self._tls,
            max_connections=None,
            keepalive_expiry=_KEEP_ALIVE,
            http2=True,
        )

    async def _close_idle_pools(self) -> None:
        """Close the least recently used idle pools."""
        surplus = max(0, len(self._pools) - self._max_pools)
        for name in list(self._pools)[:surplus]:
            pool = self._pools.get(name)
            if pool is not None and all(connection.is_idle() for connection in pool.connections):
                del self._pools[name]
                await pool.aclose()


@asynccontextmanager
async def _close_unless_read(response: httpcore.Response) -> AsyncGenerator[AsyncGenerator[bytes]]:
    """Yield the raw body, and close an unfinished HTTP/2 connection.

    httpcore sends no reset, so an abandoned body would continue to fill the shared connection. Other requests on that
    connection fail, and `SafeWeb` repeats them.
    """
    complete = False

    async def chunks() -> AsyncGenerator[bytes]:
        nonlocal complete
        async for chunk in response.aiter_stream():
            yield chunk
        complete = True

    try:
        async with aclosing(chunks()) as body:
            yield body
    finally:
        if not complete and response.extensions.get("http_version") == b"HTTP/2":
            await response.extensions["network_stream"].aclose()


def _decode_header(header: bytes) -> str:
    try:
        return header.decode("utf-8")
    except UnicodeDecodeError:
        return header.decode("latin-1")


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy. Its `url` has no credentials."""

    url: str
    credentials: tuple[str, str] | None


def proxy_for(scheme: str, host: str) -> Proxy | None:
    """Return the environment's proxy for a request, or None.

    It follows HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.
    """
    proxies = urllib.request.getproxies_environment()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or urllib.request.proxy_bypass(host, proxies):
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.hostname is None:
        return None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    credentials = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return Proxy(f"{parts.scheme}://{parts.hostname}:{port}", credentials)
