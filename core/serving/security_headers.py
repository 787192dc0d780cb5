"""Security headers of every HTTP reply."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

API_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""The Content-Security-Policy of the HTTP API, which has no pages: nothing is loaded, run or framed."""


class SecurityHeaders:
    """ASGI middleware that sets security headers on every reply.

    They replace the headers of inner middleware. Streams are not buffered."""

    def __init__(self, app: ASGIApp, policy: str) -> None:
        """`policy` is the Content-Security-Policy."""
        self.app = app
        self.headers = {
            b"content-security-policy": policy.encode(),
            b"x-content-type-options": b"nosniff",
            b"referrer-policy": b"no-referrer",
            b"x-frame-options": b"SAMEORIGIN",
            b"cross-origin-opener-policy": b"same-origin",
            b"permissions-policy": b"camera=(), microphone=(), geolocation=()",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [pair for pair in message.get("headers", ()) if pair[0].lower() not in self.headers]
                message = {**message, "headers": [*own, *self.headers.items()]}
            await send(message)

        await self.app(scope, receive, with_headers)
