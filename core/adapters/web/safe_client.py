"""The safe web client: the `Web` port for untrusted URLs."""

from __future__ import annotations

import asyncio
import http
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpcore

from core.adapters.network_failure import network_failure
from core.adapters.web.body_limits import Decompressor
from core.adapters.web.networks import EMPTY_ALLOWLIST, AddressAllowlist
from core.adapters.web.politeness import HostLimits
from core.adapters.web.robots import ROBOTS_LIMIT, Robots
from core.adapters.web.safe_connect import ConnectionAttempt, Resolve
from core.adapters.web.safe_url import SafeUrl, check_redirect, check_url
from core.adapters.web.transport import Transport
from core.config.knobs import ReadKnobs
from core.model import Document, SkipReason, Unreadable
from core.reading.file_types import declared_type, readable_type, refuse_type
from core.text.http_headers import freshness_lifetime, header_number, retry_after

USER_AGENT = "OpenQuery/0.1 (+https://github.com/openquery)"
MAX_REDIRECTS = 5
_ROBOTS_SECONDS = 10.0
_HEAD = 1024
"""The minimum received bytes before a body's type is detected from its beginning."""


class SafeWeb(AbstractAsyncContextManager["SafeWeb"]):
    """The client for untrusted URLs, one for the whole process.

    Only public http and https addresses are reached, as checked by `safe_url` and `safe_connect`. Every hop of a
    redirect is checked again. Body limits hold for the sent and the unpacked size. One time limit covers look-up,
    connection, TLS, redirects and body, without the wait for a free slot. No cookie is stored. Close it with the
    process.

    With `trust_env` the environment's proxies are used. The proxy then resolves names and replaces this client's
    address checks.
    """

    def __init__(
        self,
        *,
        allowlist: AddressAllowlist = EMPTY_ALLOWLIST,
        concurrency: int = 64,
        per_host: int = 3,
        user_agent: str = USER_AGENT,
        trust_env: bool = False,
        tls: ssl.SSLContext | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        """Use `resolve` instead of the system to look up names. Its answers are checked too."""
        self.allowlist = allowlist
        self._hosts = HostLimits(concurrency, per_host)
        self._robots = Robots(self._fetch_robots_txt, user_agent)
        self._transport = Transport(
            allowlist=allowlist,
            user_agent=user_agent,
            max_pools=2 * concurrency,
            trust_env=trust_env,
            tls=tls,
            resolve=resolve,
        )

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._robots.aclose()
        await self._transport.aclose()

    async def __call__(self, url: str, knobs: ReadKnobs) -> Document:
        """Fetch one page.

        Raises:
            Unreadable: with the reason. No other exception is raised.
        """
        return await self._fetch(url, knobs, _check_readable)

    async def cached_page(self, url: str) -> Document | None:
        """Return None: this client has no cache."""
        return None

    async def fetch_any_type(self, url: str, knobs: ReadKnobs) -> Document:
        """Fetch a body of any type. `media_type` is the header's value, which the caller must check.

        Raises:
            Unreadable: with the reason. No other exception is raised.
        """
        return await self._fetch(url, knobs, lambda declared, charset, head: declared)

    async def _fetch(self, url: str, knobs: ReadKnobs, check_type: TypeCheck) -> Document:
        try:
            return await self._follow_redirects(url, knobs, check_type)
        except Unreadable:
            raise
        except Exception as error:
            raise Unreadable(SkipReason.NETWORK, network_failure(error)) from error

    async def _follow_redirects(self, url: str, knobs: ReadKnobs, check_type: TypeCheck) -> Document:
        target = check_url(url, self.allowlist)
        budget = _TimeBudget(knobs.page_timeout)
        visited: set[str] = set()
        for _ in range(MAX_REDIRECTS + 1):
            if target.url in visited:
                raise Unreadable(SkipReason.REDIRECTS, "they lead in a circle")
            visited.add(target.url)
            async with self._hosts.slot(target.host):
                self._hosts.check_backoff(target.host, target.url)
                async with budget.running() as attempt:
                    if knobs.robots:
                        attempt.step = "asking for robots.txt"
                        await self._robots.check(target, budget.left / 2)
                    reply = await self._request_with_retry(target, knobs, attempt, check_type)
            if isinstance(reply, Document):
                self._hosts.answered(target.host)
                return reply
            target = check_redirect(target, reply, self.allowlist)
        raise Unreadable(SkipReason.REDIRECTS, f"more than {MAX_REDIRECTS}")

    async def _request_with_retry(
        self, target: SafeUrl, knobs: ReadKnobs, attempt: ConnectionAttempt, check_type: TypeCheck
    ) -> Document | str:
        """Request the page, or return the redirect's address.

        The server may have closed an idle connection. Only then is the request repeated once.
        """
        try:
            return await self._request(target, knobs, attempt, check_type)
        except (httpcore.NetworkError, httpcore.ProtocolError):
            if attempt.opened:
                raise
            return await self._request(target, knobs, attempt, check_type)

    async def _request(
        self, target: SafeUrl, knobs: ReadKnobs, attempt: ConnectionAttempt, check_type: TypeCheck
    ) -> Document | str:
        async with self._transport.get(target, attempt) as (status, headers, chunks):
            if status in (301, 302, 303, 307, 308):
                if "location" not in headers:
                    raise Unreadable(SkipReason.REDIRECTS, f"HTTP {status} that leads nowhere")
                return headers["location"]
            if not 200 <= status < 300:
                raise self._status_error(target, status, headers)
            declared, charset = declared_type(headers.get("content-type"))
            check_type(declared, charset, None)
            limit = int(knobs.max_megabytes * 1_000_000)
            if (header_number(headers.get("content-length")) or 0) > limit:
                raise Unreadable(SkipReason.TOO_LARGE, f"more than {knobs.max_megabytes:g} MB announced")
            unpacker = Decompressor(headers.get("content-encoding", ""), limit)
            media_type = ""
            async for chunk in chunks:
                attempt.step = "receiving the page"
                unpacker.feed(chunk)
                if not media_type and len(unpacker.body) >= _HEAD:
                    media_type = check_type(declared, charset, bytes(unpacker.body[:_HEAD]))
            if not unpacker.body.strip():
                raise Unreadable(SkipReason.EMPTY, "the page has no content")
            return Document(
                url=target.url,
                status=status,
                media_type=media_type or check_type(declared, charset, bytes(unpacker.body[:_HEAD])),
                charset=charset,
                body=bytes(unpacker.body),
                max_age=freshness_lifetime(headers),
            )

    def _status_error(self, target: SafeUrl, status: int, headers: Mapping[str, str]) -> Unreadable:
        reason = f"HTTP {status} {_phrase(status)}".rstrip()
        wait = retry_after(headers.get("retry-after")) if status in (429, 503) else None
        if wait:
            self._hosts.back_off(target.host, target.url, wait, reason)
            reason += f", asks to wait {wait:.0f} s"
        return Unreadable(SkipReason.STATUS, reason)

    async def _fetch_robots_txt(self, target: SafeUrl) -> tuple[int, bytes]:
        """Fetch a robots.txt's status and body. Redirects are followed, and at most `ROBOTS_LIMIT` bytes read."""
        try:
            async with asyncio.timeout(_ROBOTS_SECONDS):
                for _ in range(MAX_REDIRECTS + 1):
                    location, status, body = await self._robots_request(target)
                    if location is None:
                        return status, body
                    target = check_redirect(target, location, self.allowlist)
        except Unreadable:
            raise
        except Exception as error:
            raise Unreadable(SkipReason.NETWORK, network_failure(error)) from error
        raise Unreadable(SkipReason.REDIRECTS, f"more than {MAX_REDIRECTS}")

    async def _robots_request(self, target: SafeUrl) -> tuple[str | None, int, bytes]:
        async with self._transport.get(target, ConnectionAttempt()) as (status, headers, chunks):
            if 300 <= status < 400:
                return headers.get("location", "/robots.txt"), status, b""
            if status >= 400:
                return None, status, b""
            unpacker = Decompressor(headers.get("content-encoding", ""), 10 * ROBOTS_LIMIT)
            async for chunk in chunks:
                unpacker.feed(chunk)
                if len(unpacker.body) >= ROBOTS_LIMIT:
                    break
            return None, status, bytes(unpacker.body[:ROBOTS_LIMIT])


TypeCheck = Callable[[str, str | None, bytes | None], str]
"""Find a body's type from its header, and from its first bytes once they have arrived. Raises `Unreadable`."""


def _check_readable(declared: str, charset: str | None, head: bytes | None) -> str:
    if head is not None:
        return readable_type(declared, charset, head)
    refuse_type(declared)
    return ""


class _TimeBudget:
    """The time limit of one page, which is counted only while the page holds its slots."""

    def __init__(self, seconds: float) -> None:
        self.seconds = self.left = seconds

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[ConnectionAttempt]:
        """Count the time of a step.

        Raises:
            Unreadable: TIMEOUT, with the step that ran out of time.
        """
        attempt = ConnectionAttempt()
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.left):
                yield attempt
        except TimeoutError as error:
            raise Unreadable(
                SkipReason.TIMEOUT, f"not done within {self.seconds:g} s, while {attempt.step}"
            ) from error
        finally:
            self.left -= time.monotonic() - began


def _phrase(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return ""
