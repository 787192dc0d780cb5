"""The bytes of a streamed reply, unpacked as they arrive where a server packs them although it was asked not to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable

from core.adapters.web.body_limits import Decompressor
from core.errors import ChatFailed
from core.model import Unreadable


async def unpacked(
    pieces: AsyncIterable[bytes], encoding: str, *, host: str, limit: int
) -> AsyncGenerator[bytes]:
    """The pieces without their Content-Encoding. `limit` bounds all that is received, and what one piece unpacks to.

    Raises:
        ChatFailed: for an encoding other than gzip and deflate, damaged data, and beyond the limit.
    """
    try:
        unpacker = Decompressor(encoding, limit)
        async for piece in pieces:
            unpacker.feed(piece)
            yield bytes(unpacker.body)
            unpacker.body.clear()
    except Unreadable as why:
        raise ChatFailed(
            f"The reply from {host} cannot be unpacked: {why.detail}.",
            hint="Turn compression off in the server, or in the proxy before it.",
        ) from why
