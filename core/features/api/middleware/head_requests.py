"""HEAD requests: answered as GET, without the body."""

import asyncio
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send


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
