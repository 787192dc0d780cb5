"""Split a streamed reply into frames: server-sent events, JSON lines, or one whole body.

Relays send frames without a part of a reply: empty data, comments wrapped as data, events of other names. They are
skipped and counted.
"""

import asyncio
import codecs
import json
import math
import re
import time
from collections.abc import AsyncGenerator, AsyncIterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from core.adapters.models.openai_client import sdk_http
from core.errors import ChatFailed

MAX_REPLY_BYTES = 50_000_000
"""The maximum bytes. A model's longest reply in the most verbose framing is a tenth of it."""
ASK_AGAIN = "Ask again, or pick another model."
CHECK_ADDRESS = "Check the base URL; most end in /v1."

_MAX_EVENT_BYTES = 4_000_000
_USAGE_WAIT = 2.0
"""Seconds to wait for the token counts after the reply itself is complete."""
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")
_FIELD = re.compile(rb"[ \t]*(data|event|id|retry|error)[ \t]*:[ ]?(.*)", re.IGNORECASE | re.DOTALL)
_DATA_AGAIN = re.compile(r"(?:data:\s*)+", re.IGNORECASE)
_MOST_LINES, _MOST_REST = 16, 200_000
"""The maximum data lines tried as JSON before their end, and lines of an unstreamed body."""
_LONGEST_ERROR = 1_000
_END_MARKS = frozenset(("[done]", "done", '"[done]"', '"done"', "<|done|>"))
_ERROR_TEXT = re.compile(
    r"\b(?:error|exception|fail(?:ed|ure)|bad gateway|time-?d? ?out|unavailable|refused|overloaded|rate limit"
    r"|too many requests|internal server)\b",
    re.IGNORECASE,
)
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


@dataclass(slots=True)
class StreamEnd:
    """The known facts on the end of a stream."""

    finish: str = ""
    marked: bool = False
    """Whether an end mark has arrived, or a whole body that needs none."""
    cut: str = ""
    """The reason why this side ended the reply, or ""."""
    skipped: int = 0
    """The number of frames without a part of a reply."""

    def cut_off(self, why: str) -> None:
        """End the reply from this side."""
        self.finish, self.cut = "length", why


@dataclass(frozen=True, slots=True)
class Frame:
    """The data of one event, and the event's name if the server gave it."""

    data: str
    event: str = ""
    whole: bool = False
    """Whether the data is a whole body or JSON line, because the server sends no events."""
    last: bool = False
    """Whether this is the last frame, and the event was not closed."""


async def frames(
    pieces: AsyncIterable[bytes], host: str, end: StreamEnd, seconds: float
) -> AsyncGenerator[Frame]:
    """Yield the frames of a reply, or the whole body if it has none.

    Lines end only at CR, LF or both. A U+2028 inside a JSON string is text. After `end` has a finish reason, only
    counts are missing, and a broken or idle connection ends the stream without an error. After `seconds` the stream is
    cut off.

    Raises:
        ChatFailed: for a broken connection, or a reply that is too large.
    """
    reader = _FrameReader()
    async for piece in _received(pieces, host, end, seconds):
        for frame in reader.read(piece, host):
            yield frame
    for frame in reader.end():
        yield frame


async def _received(
    pieces: AsyncIterable[bytes], host: str, end: StreamEnd, seconds: float
) -> AsyncGenerator[bytes]:
    http = sdk_http()

    stream, ends = aiter(pieces), time.monotonic() + seconds
    while True:
        left = None if math.isinf(seconds) else ends - time.monotonic()
        try:
            async with asyncio.timeout(_USAGE_WAIT if end.finish else left):
                piece = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError:
            if not end.finish:
                end.cut_off(f"had not ended after {seconds:.0f} s, and was cut off")
            return
        except (http.HTTPError, http.StreamError) as error:
            if end.finish:
                return
            slow = isinstance(error, http.TimeoutException)
            failure = "fell silent" if slow else "broke the connection"
            raise ChatFailed(f"{host} {failure} in the middle of its reply.", hint=ASK_AGAIN) from error
        yield piece


class _FrameReader:
    """Splits received pieces of bytes into frames."""

    def __init__(self) -> None:
        self._buffer = b""
        self._total = 0
        self._data: list[bytes] = []
        self._event = ""
        self._rest: list[bytes] = []
        """Lines that are no field of an event: a body that is not streamed."""
        self._has_frames = self._has_comments = False

    def read(self, piece: bytes, host: str) -> Iterator[Frame]:
        self._buffer += piece if self._total else piece.removeprefix(codecs.BOM_UTF8)
        self._total += len(piece)
        if self._total > MAX_REPLY_BYTES or len(self._buffer) > _MAX_EVENT_BYTES:
            raise ChatFailed(f"The reply from {host} is longer than any answer.", hint=ASK_AGAIN)
        *lines, self._buffer = _LINE_END.split(self._buffer)
        for line in lines:
            yield from self._line(line)

    def _line(self, line: bytes) -> Iterator[Frame]:
        if not line.strip():
            yield from self._flush()
        elif field := _FIELD.fullmatch(line):
            name, value = field[1].lower(), field[2]
            if name == b"error":  # in the place of an event's name and data
                yield from self._flush()
                self._event, name = "error", b"data"
            if name == b"data":
                if self._is_whole():  # the blank line is missing
                    event = self._event
                    yield from self._flush()
                    self._event = event
                self._data.append(value)
            elif name == b"event":
                if self._data:
                    yield from self._flush()
                self._event = value.decode(errors="replace").strip().lower()
        elif line.lstrip()[:1] == b":":
            self._has_comments = True
        elif line.lstrip()[:1] == b"{" and not self._rest and _is_whole(line):  # JSON lines
            self._has_frames = True
            yield Frame(line.decode(errors="replace"), whole=True)
        elif self._data and not self._is_whole():
            self._data.append(line)  # JSON over several lines, only the first with the field's name
        elif not self._has_frames:
            if len(self._rest) < _MOST_REST:
                self._rest.append(line)
        else:
            yield from self._flush()
            yield Frame(line.decode(errors="replace"))

    def _is_whole(self) -> bool:
        """Check that the data is one JSON object. Data of many lines waits for its blank line."""
        return 0 < len(self._data) <= _MOST_LINES and _is_whole(b"\n".join(self._data))

    def _flush(self) -> Iterator[Frame]:
        if self._data or self._event:
            self._has_frames = self._has_frames or bool(self._data)
            yield Frame(b"\n".join(self._data).decode(errors="replace"), self._event)
        self._data, self._event = [], ""

    def end(self) -> Iterator[Frame]:
        """Yield the last unclosed frame, or the whole body."""
        last, self._buffer = self._buffer, b""
        if _FIELD.fullmatch(last) or last.lstrip()[:1] == b":":
            yield from self._line(last)
        elif last.strip():
            (self._data if self._data else self._rest).append(last)
        body = b"\n".join(self._rest).decode(errors="replace").strip()
        if self._data:
            yield from (replace(frame, last=True) for frame in self._flush())
        elif not self._has_frames:
            yield Frame(body or ":" * self._has_comments, whole=True, last=True)
        elif body:
            yield Frame(body, last=True)


def _is_whole(data: bytes) -> bool:
    text = data.strip()
    if text[:1] != b"{":
        return text.lower() == b"[done]"
    try:
        _DECODER.raw_decode(text.decode(errors="replace"))
    except (ValueError, RecursionError):
        return False
    return True


def parsed_frame(frame: Frame, host: str, end: StreamEnd) -> list[dict[str, Any]]:
    """Return a frame's JSON objects. The result is empty if it has no part of a reply.

    An end mark is recorded in `end`, and so is a skipped frame.

    Raises:
        ChatFailed: for damaged JSON, and a whole body that is no chat reply.
    """
    text = _DATA_AGAIN.sub("", frame.data.strip(), count=1) if frame.data[:5] else ""
    text = text.strip().lstrip("\ufeff\x1e")
    if text.lower() in _END_MARKS or (frame.event in ("done", "end", "complete") and not text):
        end.marked = True
        return []
    if text.lower().endswith("[done]") and text[:1] == "{":
        end.marked, text = True, text[: -len("[done]")].strip()
    values, damaged = _objects(text)
    if "error" in frame.event:
        return [{"error": _error_of(values, text)}]
    if values and not damaged:
        return values
    if frame.whole and not values:
        raise _no_reply(text, host)
    if damaged and text[:1] == "{":
        if frame.last:
            raise ChatFailed(f"The reply from {host} stopped before its end.", hint=ASK_AGAIN)
        raise ChatFailed(f"{host} sent a damaged part in the middle of its reply.", hint=ASK_AGAIN)
    if text[:1] == "<" and text[1:9].lower().startswith(("html", "!doctype")):
        return [{"error": "a web page in the middle of the reply"}]
    if not values and len(text) < _LONGEST_ERROR and _ERROR_TEXT.search(text):
        return [{"error": text}]
    end.skipped += 1
    return values


def _objects(text: str) -> tuple[list[dict[str, Any]], bool]:
    """Parse consecutive JSON objects in a text. The second result is whether the remainder is no JSON."""
    values, place = list[dict[str, Any]](), 0
    try:
        while place < len(text):
            value, place = _DECODER.raw_decode(text, place)
            rows = value if isinstance(value, list) else [value]
            values += [row for row in rows if isinstance(row, dict)]
            while place < len(text) and text[place] in " \t\r\n,":
                place += 1
    except (ValueError, RecursionError):
        return values, True
    return values, False


def _error_of(values: list[dict[str, Any]], text: str) -> Any:
    for value in values:
        return value.get("error") or value
    return text or "an error without a message"


def _no_reply(text: str, host: str) -> ChatFailed:
    kind = "an empty reply" if not text else "a web page" if text.startswith("<") else "no chat reply"
    return ChatFailed(f"{host} sent {kind}.", hint=CHECK_ADDRESS if text else ASK_AGAIN)
