"""Frames over the pipes between a program and its worker processes: two parts of bytes, after the length of each."""

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
    """The pieces of a frame in order: a small frame is one, which wakes its reader once, a large one is not copied."""
    lengths = _LENGTHS.pack(len(head), len(body))
    return [lengths + head + body] if len(body) < _SMALL else [lengths + head, body]


def reply_stream() -> BinaryIO:
    """The stream for a worker's frames: its standard output, in whose place standard error stands from now on.

    So what a library prints does not get between frames.
    """
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return replies


def write_frame(stream: BinaryIO, head: bytes, body: bytes = b"") -> None:
    """Write a frame, and flush the stream."""
    stream.writelines(packed(head, body))
    stream.flush()


def read_frame(stream: BinaryIO) -> Frame | None:
    """The next frame; None where the stream has ended. For what our own program writes: nothing bounds its length."""
    lengths = _read(stream, _LENGTHS.size)
    if lengths is None:
        return None
    head, body = (_read(stream, length) for length in _LENGTHS.unpack(lengths))
    return None if head is None or body is None else (head, body)


async def receive_frame(pipe: asyncio.StreamReader, head_limit: int, body_limit: int) -> Frame:
    """The next frame of a worker process, whose parts have at most so many bytes.

    Raises:
        ValueError: when it announces more, before any of that is read.
        asyncio.IncompleteReadError: when the pipe ends.
    """
    head, body = _LENGTHS.unpack(await pipe.readexactly(_LENGTHS.size))
    if head > head_limit or body > body_limit:
        raise ValueError(f"a frame of {head:,} and {body:,} bytes")
    return await pipe.readexactly(head), await pipe.readexactly(body)


def _read(stream: BinaryIO, length: int) -> bytes | None:
    """Exactly so many bytes, also of an unbuffered stream; None where it ends before."""
    pieces, missing = [], length
    while missing:
        piece = stream.read(min(missing, 1 << 20))
        if not piece:
            return None
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)
