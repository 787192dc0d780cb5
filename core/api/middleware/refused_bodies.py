"""Replies to requests that are refused while their body is still being sent."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECONDS, BYTES = 30.0, 1_000_000_000
"""For how long, and how much of, the rest of a body is taken in."""
_NOT_AWAITED = 408
"""The reply to a body that does not come."""


class DrainRefused:
    """ASGI middleware that takes in the rest of a refused body before the reply ends, and discards it.

    A server that closes a connection on which bytes are unread has the system reset it, and a client that is still
    sending may lose the reply.
    """

    def __init__(self, app: ASGIApp, seconds: float = SECONDS, limit: int = BYTES) -> None:
        self.app, self.seconds, self.limit = app, seconds, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        # Who waits for a word before sending a body does not send it after another one.
        if scope["type"] != "http" or "expect" in Headers(scope=scope):
            await self.app(scope, receive, send)
            return
        whole = refused = False

        async def received() -> Message:
            nonlocal whole
            message = await receive()
            whole = not message.get("more_body", False)  # also when the client has gone
            return message

        async def drain() -> None:
            size = 0
            try:
                async with asyncio.timeout(self.seconds):
                    while not whole and size <= self.limit:
                        size += len((await received()).get("body", b""))
            except TimeoutError:
                pass  # the reply is ended all the same

        async def sent(message: Message) -> None:
            nonlocal refused
            if message["type"] == "http.response.start":
                refused = message["status"] >= 400 and message["status"] != _NOT_AWAITED
            elif refused and not whole and not message.get("more_body", False):
                await send({**message, "more_body": True})
                await drain()
                message = {"type": "http.response.body"}
            await send(message)

        await self.app(scope, received, sent)
