"""Frames over the pipes between a program and its workers: two parts of bytes, after their lengths."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import asyncio

Frame = tuple[bytes, bytes]

_LENGTHS = struct.Struct(">QQ")
_SMALL = 1_000_000


def packed(head: bytes, body: bytes = b"") -> list[bytes]:
    """Return the pieces of a frame in order.

    A small frame is one piece, which wakes its reader once. A large body is not copied.
    """
    lengths = _LENGTHS.pack(len(head), len(body))
    return [lengths + head + body] if len(body) < _SMALL else [lengths + head, body]


def reply_stream() -> BinaryIO:
    """Return a worker's frame stream, its original standard output.

    Standard output becomes standard error, so that prints of libraries do not corrupt frames.
    """
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return replies


def write_frame(stream: BinaryIO, head: bytes, body: bytes = b"") -> None:
    """Write a frame, and flush the stream."""
    stream.writelines(packed(head, body))
    stream.flush()


def read_frame(stream: BinaryIO) -> Frame | None:
    """Return the next frame, or None at the end.

    Only for streams of our own programs, since its length is unlimited.
    """
    lengths = _read(stream, _LENGTHS.size)
    if lengths is None:
        return None
    head, body = (_read(stream, length) for length in _LENGTHS.unpack(lengths))
    return None if head is None or body is None else (head, body)


async def receive_frame(pipe: asyncio.StreamReader, head_limit: int, body_limit: int) -> Frame:
    """Return the next frame of a worker, within size limits.

    Raises:
        ValueError: when the announced size exceeds `head_limit` or `body_limit`, before the parts are read.
        asyncio.IncompleteReadError: when the pipe ends.
    """
    head, body = _LENGTHS.unpack(await pipe.readexactly(_LENGTHS.size))
    if head > head_limit or body > body_limit:
        raise ValueError(f"a frame of {head:,} and {body:,} bytes")
    return await pipe.readexactly(head), await pipe.readexactly(body)


def _read(stream: BinaryIO, length: int) -> bytes | None:
    """Read exactly `length` bytes, or return None. The stream may be unbuffered, and None means that it ended early."""
    pieces, missing = [], length
    while missing:
        piece = stream.read(min(missing, 1 << 20))
        if not piece:
            return None
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)
