"""ASGI middleware: authorization with limits of bodies, HEAD requests, and paths with a slash at their end.

Without bearer tokens, only programs on this machine are served.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Callable
from contextlib import suppress

from fastapi.requests import Request
from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.config.settings import Settings
from core.errors import OpenQueryError
from core.serving.body_limits import BODY_SECONDS, body_refusal, limited_body
from core.serving.problems import Refusal, reply
from core.text.http_headers import host_and_port, is_loopback

_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


class Guard:
    """ASGI middleware around the whole service: authorization, and limits of size and time for bodies, for every path."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Callable[[], Settings],
        limit: Callable[[Scope, Settings], int],
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        """`limit` returns the largest request body, in bytes. `body_seconds` is the time for an empty body."""
        self.app = app
        self.body_seconds = body_seconds
        self.limit = limit
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            settings = await asyncio.to_thread(self.settings)
        except OpenQueryError as error:
            refusal: Refusal | None = Refusal(503, error.message, error.hint)
        else:
            allowed, limit = tokens(settings.api_tokens), self.limit(scope, settings)
            refusal = authorization_refusal(scope, allowed) or body_refusal(scope, limit)
        if refusal is None:
            scope["openquery.owner"] = owner(scope, with_tokens=bool(allowed))
            await self.app(scope, limited_body(scope, receive, limit, self.body_seconds), send)
        else:
            await reply(refusal, Request(scope).url.path)(scope, receive, send)


def tokens(setting: SecretStr | None) -> tuple[str, ...]:
    """The tokens of OPENQUERY_API_TOKENS."""
    listed = setting.get_secret_value() if setting else ""
    return tuple(token for part in listed.split(",") if (token := part.strip()))


def authorization_refusal(scope: Scope, allowed: tuple[str, ...]) -> Refusal | None:
    """The refusal of a request without authorization, or None.

    Without tokens it must come from loopback, directly, and name a loopback host: a proxy that sends no
    forwarding header passes on the public name. Requests of other sites' pages are refused by `core.serving.host_check` before.
    """
    headers = Headers(scope=scope)
    if allowed:
        kind, _, token = headers.get("authorization", "").partition(" ")
        # Every token is compared, in constant time, so that nothing can be learnt from how long it takes.
        matches = [
            secrets.compare_digest(token.strip().encode(), known_token.encode()) for known_token in allowed
        ]
        if kind.lower() == "bearer" and any(matches):
            return None
        return Refusal(
            401,
            "A bearer token is needed." if not token else "This bearer token is not known here.",
            "Send the header Authorization: Bearer <one of OPENQUERY_API_TOKENS>.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    client = scope.get("client")
    is_local = (
        client is not None
        and is_loopback(client[0])
        and is_loopback(host_and_port(headers.get("host", ""))[0])
        and not any(name in headers for name in _FORWARDED)
    )
    if is_local:
        return None
    return Refusal(
        403,
        "Without tokens this service answers only programs on its own machine.",
        "Set OPENQUERY_API_TOKENS and send one of them as a bearer token.",
    )


def owner(scope: Scope, *, with_tokens: bool) -> str:
    """Return the quota subject of a request: a digest of its token, else its address."""
    if with_tokens:
        token = Headers(scope=scope)["authorization"].partition(" ")[2].strip()
        return f"token {hashlib.sha256(token.encode()).hexdigest()[:16]}"
    return f"address {scope['client'][0]}"


class HeadRequests:
    """Answers HEAD like GET, but ends the work after the headers. Some bodies have no end."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        started = asyncio.Event()

        async def send_start(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                started.set()

        answering = asyncio.ensure_future(self._app({**scope, "method": "GET"}, receive, send_start))
        waiting = asyncio.ensure_future(started.wait())
        try:
            await asyncio.wait((answering, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:  # also where the caller has gone before the headers
            waiting.cancel()
            answering.cancel()
            with suppress(asyncio.CancelledError):
                await answering


class TrailingSlash:
    """Answers `/qa/` like `/qa`, without a redirect.

    A redirect would name an address that is wrong behind a proxy below a folder, and many clients do not follow one
    with a body.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            root = f"{scope.get('root_path', '')}/"
            path = scope["path"]
            if path.endswith("/") and path != root:
                scope = {**scope, "path": path.rstrip("/") or root}
        await self._app(scope, receive, send)
