"""Parser of streamed chat replies (server-sent events), which detects every malformed one.

The SDK's own reader passes over a reply that is no stream, and does not tell whether the end mark came.
"""

import asyncio
import codecs
import json
import math
import re
import time
from collections.abc import AsyncGenerator, AsyncIterable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any

from core.adapters.models.model_http import provider_text
from core.adapters.models.tool_call_assembler import ToolCallAssembler
from core.errors import ChatFailed
from core.model import StreamChunk, Usage, content_text
from core.text.sanitize import CHARACTERS_A_TOKEN, encodable, pluralize
from core.text.stop_sequences import overlap

_MAX_EVENT_BYTES = 4_000_000
MAX_REPLY_BYTES = 50_000_000
"""Bytes. A model's longest reply in the wordiest framing is a tenth of it."""
_USAGE_WAIT = 2.0
"""Seconds to wait for the token counts once the reply itself is complete."""
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")
_AGAIN = "Ask again, or pick another model."


@dataclass(frozen=True, slots=True)
class ReplyLimits:
    """What ends a reply that does not end: `seconds` for all of it, and `max_tokens`, counted generously in characters."""

    max_tokens: int
    seconds: float

    @property
    def characters(self) -> int:
        """More than so many tokens have in any language."""
        return 2 * CHARACTERS_A_TOKEN * self.max_tokens + 1_000


NO_LIMITS = ReplyLimits(max_tokens=MAX_REPLY_BYTES, seconds=math.inf)


async def read_reply(
    pieces: AsyncIterable[bytes], *, host: str, key: str, limits: ReplyLimits = NO_LIMITS
) -> AsyncGenerator[StreamChunk]:
    """Chunks of a `chat.completion.chunk` stream; the last carries `finish`, and `usage` where it was sent.

    A reply beyond its limits is read no further: the last chunk then says so in `cut`.

    Tool calls arrive in pieces and are yielded whole, before the last chunk.

    A server that answers a streaming request with one whole completion is understood too. Thinking, in
    its own field or in a leading `<think>` block, becomes `reasoning`.

    Raises:
        ChatFailed: for an error object, anything that is not a chat reply, and a stream that ends with
            neither a finish reason nor `[DONE]`.
    """
    split, end, surrogates = ReasoningSplitter(), _StreamEnd(), _SurrogateJoiner()
    tools = ToolCallAssembler()
    room = limits.characters
    async with aclosing(_payloads(pieces, host, end, limits.seconds)) as payloads:
        async for payload in payloads:
            if payload == "[DONE]":
                end.marked = True
                break
            chunk = _parsed(payload, host)
            _raise_error(chunk, host, key)
            choice = _first(chunk.get("choices"))
            _raise_error(choice, host, key)
            end.usage = _usage(chunk.get("usage")) or end.usage
            end.finish = content_text(choice.get("finish_reason")) or end.finish
            delta = choice.get("delta") or choice.get("message")
            if isinstance(delta, dict):
                tools.read(delta.get("tool_calls"))
                reasoning = content_text(delta.get("reasoning")) or content_text(
                    delta.get("reasoning_content")
                )
                for piece in split.read(
                    encodable(reasoning), surrogates.joined(content_text(delta.get("content")))
                ):
                    yield _first_characters(piece, room)
                    room = max(room - len(piece.text_delta) - len(piece.reasoning_delta), -1)
                    if room < 0:
                        break
                if room < 0:
                    end.cut_off(
                        f"went on beyond its limit of {pluralize(limits.max_tokens, 'token')}, and was ended"
                    )
                    break
    for piece in split.end() if room >= 0 else ():
        yield piece
    if end.finish == "error":
        raise ChatFailed(f"{host} broke the reply off.", hint=_AGAIN)
    if not end.finish and not end.marked:
        raise ChatFailed(f"The reply from {host} stopped before its end.", hint=_AGAIN)
    for call in tools.calls():
        yield StreamChunk(tool_call=call)
    yield StreamChunk(finish=end.finish or "stop", usage=end.usage, cut=end.cut)


@dataclass(slots=True)
class _StreamEnd:
    """What the end of a stream has said so far."""

    finish: str = ""
    usage: Usage | None = None
    marked: bool = False
    cut: str = ""

    def cut_off(self, why: str) -> None:
        self.finish, self.cut = "length", why


class _SurrogateJoiner:
    """Puts characters together that two pieces bring as `\\ud83d` and `\\ude00`; a half alone becomes �."""

    def __init__(self) -> None:
        self._buffer = ""

    def joined(self, text: str) -> str:
        text = self._buffer + text
        self._buffer = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return encodable(text[: len(text) - len(self._buffer)])


class ReasoningSplitter:
    """Tells a leading `<think>` block from the reply that follows it, however the pieces are cut."""

    _OPEN, _CLOSE = "<think>", "</think>"

    def __init__(self) -> None:
        self._buffer = ""
        self._inside: bool | None = None
        """None until the first visible characters have decided."""

    def read(self, reasoning: str, content: str) -> Iterator[StreamChunk]:
        """The chunks of the next piece: `reasoning` in its own field, and `content`, which may hold a `<think>` block."""
        if reasoning:
            yield StreamChunk(reasoning_delta=reasoning)
        self._buffer += content
        if self._inside is None and self._buffer.strip():
            start = self._buffer.lstrip()
            if start.startswith(self._OPEN):
                self._inside, self._buffer = True, start[len(self._OPEN) :]
            elif not self._OPEN.startswith(start):
                self._inside = False
        if self._inside:
            thought, mark, rest = self._buffer.partition(self._CLOSE)
            if mark:
                self._inside, self._buffer = False, rest.lstrip()
            else:
                keep = overlap(thought, self._CLOSE)
                thought, self._buffer = thought[: len(thought) - keep], thought[len(thought) - keep :]
            if thought:
                yield StreamChunk(reasoning_delta=thought)
        if self._inside is False and self._buffer:
            text, self._buffer = self._buffer, ""
            yield StreamChunk(text_delta=text)

    def end(self) -> Iterator[StreamChunk]:
        """What was held back because a tag might have followed."""
        text, self._buffer = self._buffer, ""
        if text.strip():
            yield StreamChunk(reasoning_delta=text) if self._inside else StreamChunk(text_delta=text)


async def _payloads(
    pieces: AsyncIterable[bytes], host: str, end: _StreamEnd, seconds: float
) -> AsyncGenerator[str]:
    """The data of each server-sent event; the whole body when it holds not one event.

    Lines end at CR, LF or both and nowhere else: a U+2028 inside a JSON string is text. Once `end`
    has a finish reason nothing but counts is missing, and a broken or idle connection ends the stream quietly.
    After `seconds` the stream is cut off.
    """
    import httpx2

    buffer, whole, data, total = b"", b"", list[bytes](), 0
    has_events = False
    stream = aiter(pieces)
    ends = time.monotonic() + seconds
    while True:
        seconds_left = ends - time.monotonic()
        try:
            async with asyncio.timeout(
                _USAGE_WAIT if end.finish else None if seconds_left == math.inf else seconds_left
            ):
                piece = await anext(stream)
        except StopAsyncIteration:
            break
        except TimeoutError:
            if not end.finish:
                end.cut_off(f"had not ended after {seconds:.0f} s, and was cut off")
            return
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            if end.finish:
                return
            slow = isinstance(error, httpx2.TimeoutException)
            failure = "fell silent" if slow else "broke the connection"
            raise ChatFailed(f"{host} {failure} in the middle of its reply.", hint=_AGAIN) from error
        buffer += piece.removeprefix(codecs.BOM_UTF8) if not total else piece
        total += len(piece)
        if total > MAX_REPLY_BYTES or len(buffer) > _MAX_EVENT_BYTES:
            raise ChatFailed(f"The reply from {host} is longer than any answer.", hint=_AGAIN)
        *lines, buffer = _LINE_END.split(buffer)
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                has_events = True
                yield b"\n".join(data).decode(errors="replace")
                data = []
            elif not has_events and len(whole) < _MAX_EVENT_BYTES:
                whole += line + b"\n"
    if buffer.startswith(b"data:"):
        data.append(buffer[5:].strip())
    if data:
        yield b"\n".join(data).decode(errors="replace")
    elif not has_events:
        yield (whole + buffer).decode(errors="replace").strip()


def _first_characters(piece: StreamChunk, count: int) -> StreamChunk:
    if len(piece.text_delta) + len(piece.reasoning_delta) <= count:
        return piece
    return replace(piece, text_delta=piece.text_delta[:count], reasoning_delta=piece.reasoning_delta[:count])


def _parsed(payload: str, host: str) -> dict[str, Any]:
    try:
        value = json.loads(payload, strict=False)
    except (ValueError, RecursionError) as error:
        kind = (
            "an empty reply" if not payload else "a web page" if payload.startswith("<") else "no chat reply"
        )
        raise ChatFailed(
            f"{host} sent {kind}.", hint="Check the base URL; most end in /v1." if payload else _AGAIN
        ) from error
    if not isinstance(value, dict) or not ({"choices", "error", "usage", "id"} & value.keys()):
        raise ChatFailed(
            f"{host} sent something that is no chat reply.", hint="Check the base URL; most end in /v1."
        )
    return value


def _raise_error(value: dict[str, Any], host: str, key: str) -> None:
    if value.get("error"):
        message = provider_text(value, key)
        raise ChatFailed(f"{host} reported an error{f': {message}' if message else ''}.", hint=_AGAIN)


def _first(choices: Any) -> dict[str, Any]:
    first = choices[0] if isinstance(choices, list) and choices else {}
    return first if isinstance(first, dict) else {}


def _usage(value: Any) -> Usage | None:
    """The tokens; None where the server sent none, or none that can be told from another thing."""
    with suppress(ValueError):
        return Usage.from_json(value)
    return None
