"""The safe web client: the `Web` port for addresses that strangers chose."""

from __future__ import annotations

import asyncio
import http
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

import httpcore

from core.adapters.web.body_limits import Unpacker
from core.adapters.web.freshness import keep_seconds
from core.adapters.web.networks import NO_HOLES, Holes
from core.adapters.web.politeness import HostLimits
from core.adapters.web.robots import ROBOTS_LIMIT, Robots
from core.adapters.web.safe_connect import ConnectionAttempt, Resolve
from core.adapters.web.safe_url import SafeUrl, judged, redirected
from core.adapters.web.transport import Transport
from core.config.knobs import ReadKnobs
from core.model import Document, SkipReason, Unreadable
from core.text.http_headers import header_number, retry_after
from core.text.media_types import declared_type, readable_type, refuse_type

USER_AGENT = "OpenQuery/0.1 (+https://github.com/openquery)"
MAX_REDIRECTS = 5
_ROBOTS_SECONDS = 10.0
_HEAD = 1024
"""Bytes that must have come before a body's type is judged by its beginning."""


class SafeWeb:
    """One client for the whole process, to be closed with it.

    Only public http and https addresses are reached, as judged by `address` and `connect`; every hop of
    a redirect is judged anew. Bodies are counted as sent and as unpacked. One clock covers look-up,
    connection, TLS, redirects and body; waiting for a free slot does not count. No cookie is kept.

    With `trust_env` the environment's proxies are used: names are then resolved by the proxy, which is
    the guard in this client's place, and `guard` says so.
    """

    def __init__(
        self,
        *,
        holes: Holes = NO_HOLES,
        concurrency: int = 64,
        per_host: int = 3,
        user_agent: str = USER_AGENT,
        trust_env: bool = False,
        tls: ssl.SSLContext | None = None,
        resolve: Resolve | None = None,
    ) -> None:
        """`resolve` looks names up in the system's place; what it answers is judged all the same."""
        self.holes = holes
        self._hosts = HostLimits(concurrency, per_host)
        self._robots = Robots(self._robots_txt, user_agent)
        self._wire = Transport(
            holes=holes,
            user_agent=user_agent,
            keep=2 * concurrency,
            trust_env=trust_env,
            tls=tls,
            resolve=resolve,
        )

    @property
    def guard(self) -> str:
        """Who keeps requests off private addresses: this client, or a proxy that the operator named."""
        return self._wire.guard

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._robots.aclose()
        await self._wire.aclose()

    async def __call__(self, url: str, knobs: ReadKnobs) -> Document:
        """Fetch one page.

        Raises:
            Unreadable: with the reason; nothing else leaves this method.
        """
        return await self._fetched(url, knobs, _readable)

    async def anything(self, url: str, knobs: ReadKnobs) -> Document:
        """Fetch a body of whatever type, which is for the caller to judge: `media_type` is the header's word.

        Raises:
            Unreadable: with the reason; nothing else leaves this method.
        """
        return await self._fetched(url, knobs, _any)

    async def _fetched(self, url: str, knobs: ReadKnobs, judge: Judge) -> Document:
        try:
            return await self._followed(url, knobs, judge)
        except Unreadable:
            raise
        except Exception as error:
            raise Unreadable(SkipReason.NETWORK, _plain(error)) from error

    async def _followed(self, url: str, knobs: ReadKnobs, judge: Judge) -> Document:
        target = judged(url, self.holes)
        clock = _Clock(knobs.page_timeout)
        seen: set[str] = set()
        for _ in range(MAX_REDIRECTS + 1):
            if target.url in seen:
                raise Unreadable(SkipReason.REDIRECTS, "they lead in a circle")
            seen.add(target.url)
            async with self._hosts.slot(target.host):
                self._hosts.check_backoff(target.host)
                async with clock.running() as journey:
                    if knobs.robots:
                        journey.step = "asking for robots.txt"
                        await self._robots.check(target, clock.left / 2)
                    reply = await self._asked(target, knobs, journey, judge)
            if isinstance(reply, Document):
                return reply
            target = redirected(target, reply, self.holes)
        raise Unreadable(SkipReason.REDIRECTS, f"more than {MAX_REDIRECTS}")

    async def _asked(
        self, target: SafeUrl, knobs: ReadKnobs, journey: ConnectionAttempt, judge: Judge
    ) -> Document | str:
        """The page, or the address that the reply redirects to.

        A connection kept from earlier may turn out to be closed by the other side: only then is the
        request sent once more.
        """
        try:
            return await self._page(target, knobs, journey, judge)
        except (httpcore.NetworkError, httpcore.ProtocolError):
            if journey.opened:
                raise
            return await self._page(target, knobs, journey, judge)

    async def _page(
        self, target: SafeUrl, knobs: ReadKnobs, journey: ConnectionAttempt, judge: Judge
    ) -> Document | str:
        async with self._wire.get(target, journey) as (status, headers, chunks):
            if status in (301, 302, 303, 307, 308):
                if "location" not in headers:
                    raise Unreadable(SkipReason.REDIRECTS, f"HTTP {status} that leads nowhere")
                return headers["location"]
            if not 200 <= status < 300:
                raise self._refused(target, status, headers)
            declared, charset = declared_type(headers.get("content-type"))
            judge(declared, charset, None)
            limit = int(knobs.max_megabytes * 1_000_000)
            if (header_number(headers.get("content-length")) or 0) > limit:
                raise Unreadable(SkipReason.TOO_LARGE, f"more than {knobs.max_megabytes:g} MB announced")
            unpacker = Unpacker(headers.get("content-encoding", ""), limit)
            media_type = ""
            async for chunk in chunks:
                journey.step = "receiving the page"
                unpacker.feed(chunk)
                if not media_type and len(unpacker.body) >= _HEAD:
                    media_type = judge(declared, charset, bytes(unpacker.body[:_HEAD]))
            if not unpacker.body.strip():
                raise Unreadable(SkipReason.EMPTY, "the page has no content")
            return Document(
                url=target.url,
                status=status,
                media_type=media_type or judge(declared, charset, bytes(unpacker.body[:_HEAD])),
                charset=charset,
                body=bytes(unpacker.body),
                keep=keep_seconds(headers),
            )

    def _refused(self, target: SafeUrl, status: int, headers: Mapping[str, str]) -> Unreadable:
        what = f"HTTP {status} {_phrase(status)}".rstrip()
        wait = retry_after(headers.get("retry-after")) if status in (429, 503) else None
        if wait:
            self._hosts.back_off(target.host, wait, what)
            what += f", asks to wait {wait:.0f} s"
        return Unreadable(SkipReason.STATUS, what)

    async def _robots_txt(self, target: SafeUrl) -> tuple[int, bytes]:
        """Status and body of a robots.txt, redirects followed, at most `ROBOTS_LIMIT` bytes of it."""
        try:
            async with asyncio.timeout(_ROBOTS_SECONDS):
                for _ in range(MAX_REDIRECTS + 1):
                    location, status, body = await self._robots_hop(target)
                    if location is None:
                        return status, body
                    target = redirected(target, location, self.holes)
        except Unreadable:
            raise
        except Exception as error:
            raise Unreadable(SkipReason.NETWORK, _plain(error)) from error
        raise Unreadable(SkipReason.REDIRECTS, f"more than {MAX_REDIRECTS}")

    async def _robots_hop(self, target: SafeUrl) -> tuple[str | None, int, bytes]:
        async with self._wire.get(target, ConnectionAttempt()) as (status, headers, chunks):
            if 300 <= status < 400:
                return headers.get("location", "/robots.txt"), status, b""
            if status >= 400:
                return None, status, b""
            unpacker = Unpacker(headers.get("content-encoding", ""), 10 * ROBOTS_LIMIT)
            async for chunk in chunks:
                unpacker.feed(chunk)
                if len(unpacker.body) >= ROBOTS_LIMIT:
                    break
            return None, status, bytes(unpacker.body[:ROBOTS_LIMIT])


Judge = Callable[[str, str | None, bytes | None], str]
"""A body's type from the header's words and, once they are there, its first bytes. Raises Unreadable."""


def _readable(declared: str, charset: str | None, head: bytes | None) -> str:
    if head is not None:
        return readable_type(declared, charset, head)
    refuse_type(declared)
    return ""


def _any(declared: str, charset: str | None, head: bytes | None) -> str:
    return declared


class _Clock:
    """The seconds that one page may take, spent only while it holds its slots."""

    def __init__(self, seconds: float) -> None:
        self.seconds = self.left = seconds

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[ConnectionAttempt]:
        """Raises Unreadable: TIMEOUT, with the step at which the time ran out."""
        journey = ConnectionAttempt()
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.left):
                yield journey
        except TimeoutError as error:
            raise Unreadable(
                SkipReason.TIMEOUT, f"not done within {self.seconds:g} s, while {journey.step}"
            ) from error
        finally:
            self.left -= time.monotonic() - began


def _phrase(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return ""


def _plain(error: Exception) -> str:
    """What went wrong on the wire, in words for a person."""
    cause: BaseException | None = error
    while cause is not None:
        match cause:
            case ssl.SSLCertVerificationError():
                return f"the certificate is not valid: {cause.verify_message}"
            case ssl.SSLError():
                return f"no secure connection: {cause.reason or 'TLS error'}"
            case ConnectionRefusedError():
                return "connection refused"
        cause = cause.__cause__ or cause.__context__
    for kind, words in _WORDS.items():
        if isinstance(error, kind):
            return words
    what = "a malformed reply" if isinstance(error, httpcore.ProtocolError) else type(error).__name__
    return f"{what}: {str(error)[:120]}"


_WORDS: dict[type[Exception], str] = {
    httpcore.ConnectError: "no connection",
    httpcore.ReadError: "the connection broke off",
    httpcore.WriteError: "the connection broke off",
}
