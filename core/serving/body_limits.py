"""Limits of size and time for request bodies, and replies to requests that are refused while they still send one."""

import asyncio
import math

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.serving.problems import Refusal

SECONDS, BYTES = 30.0, 1_000_000_000
"""For how long, and how much of, the rest of a body is taken in."""
_NOT_AWAITED = 408
"""The reply to a body that does not come."""


BODY_SECONDS = 30.0
SLOWEST_BODY = 50_000
"""Time limit of a request's body: BODY_SECONDS, and one second per SLOWEST_BODY bytes of its size."""


def body_refusal(scope: Scope, limit: int) -> Refusal | None:
    """Return the refusal of a body that is compressed or whose declared size is too large, or None.

    Undeclared bytes are counted on arrival.
    """
    coding = Headers(scope=scope).get("content-encoding", "identity")
    if coding.lower() != "identity":
        return Refusal(
            415,
            f"A body with Content-Encoding: {coding[:40]} is not read.",
            "Send it as it is, without that header.",
            headers={"Accept-Encoding": "identity"},
        )
    size = _declared_size(scope)
    if size is not None and size > limit:
        return Refusal(413, f"The body has {size:,} bytes; the limit is {limit:,}.")
    return None


def _declared_size(scope: Scope) -> int | None:
    size = Headers(scope=scope).get("content-length", "")
    return int(size) if size.isascii() and size.isdigit() else None


def limited_body(scope: Scope, receive: Receive, limit: int, seconds: float) -> Receive:
    """Yield the same body. Raises HTTPException: 413 for a too large body, 408 for a late body.

    `seconds` is the time for a body of no bytes.
    """
    declared = _declared_size(scope)
    seconds += (limit if declared is None else declared) / SLOWEST_BODY
    size, whole, ends = 0, False, math.inf

    async def counted() -> Message:
        nonlocal size, whole, ends
        if whole:
            return await receive()  # the message that the client disconnected
        loop = asyncio.get_running_loop()
        ends = min(ends, loop.time() + seconds)
        try:
            async with asyncio.timeout_at(ends):
                message = await receive()
        except TimeoutError as error:
            raise HTTPException(
                408, f"The body was not here within {seconds:.0f} s.", {"Connection": "close"}
            ) from error
        size += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if size > limit:
            raise HTTPException(413, f"The body is larger than the limit of {limit:,} bytes.")
        return message

    return counted


class DrainRefused:
    """ASGI middleware that takes in the rest of a refused body before the reply ends, and discards it.

    A server that closes a connection on which bytes are unread has the system reset it, and a client that is still
    sending may lose the reply.
    """

    def __init__(self, app: ASGIApp, seconds: float = SECONDS, limit: int = BYTES) -> None:
        self.app, self.seconds, self.limit = app, seconds, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        # A client that waits for 100 Continue sends no body after another reply.
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
