"""Read chat replies, streamed or whole, and detect every incomplete reply.

The SDK's own reader ignores a reply that is no stream, and does not report whether the end mark was received. A reply
is read by `replies`: frames, messages, then thoughts and tool calls.
"""

import math
from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from core.adapters.models.replies.calls import ToolCallAssembler
from core.adapters.models.replies.frames import (
    ASK_AGAIN,
    CHECK_ADDRESS,
    MAX_REPLY_BYTES,
    StreamEnd,
    frames,
    parsed_frame,
)
from core.adapters.models.replies.messages import REFUSAL, MessageReader, Part, believable_usage, complaint
from core.adapters.models.replies.thoughts import ThoughtHabit, ThoughtSplitter
from core.adapters.models.replies.written_calls import WrittenCalls
from core.errors import ChatFailed
from core.model import StreamChunk
from core.text.sanitize import CHARACTERS_A_TOKEN, encodable, pluralize

__all__ = ["MAX_REPLY_BYTES", "NO_LIMITS", "ReplyLimits", "read_reply"]


@dataclass(frozen=True, slots=True)
class ReplyLimits:
    """Limits that end a reply: its `seconds`, and `max_tokens`, counted generously in characters."""

    max_tokens: int
    seconds: float

    @property
    def characters(self) -> int:
        """More characters than these tokens have in any language."""
        return 2 * CHARACTERS_A_TOKEN * self.max_tokens + 1_000


NO_LIMITS = ReplyLimits(max_tokens=MAX_REPLY_BYTES, seconds=math.inf)


async def read_reply(
    pieces: AsyncIterable[bytes],
    *,
    host: str,
    key: str,
    limits: ReplyLimits = NO_LIMITS,
    tools: Sequence[str] = (),
    habit: ThoughtHabit | None = None,
) -> AsyncGenerator[StreamChunk]:
    """Yield the chunks of a reply.

    The last chunk has `finish`, and `usage` if the server's count is plausible. Reading stops when a reply exceeds its
    limits, and the last chunk's `cut` then says so. Tool calls are yielded whole, before the last chunk. A refusal is
    text, and `finish` is then `refusal`.

    Args:
        pieces: the body as it arrives.
        host: the server, for messages.
        key: the key, which is removed from messages.
        limits: limits for a reply that does not end.
        tools: the functions that the model was offered. Calls of these are also found in its text.
        habit: how the model marked its thoughts in earlier replies. This reply adds to it.

    Raises:
        ChatFailed: for an error, anything that is no chat reply, and a stream that ends with neither a finish reason
            nor an end mark.
    """
    end, reply = StreamEnd(), _Reply(limits, tools, habit)
    messages = MessageReader(key)
    try:
        async with aclosing(frames(pieces, host, end, limits.seconds)) as received:
            async for frame in received:
                for value in parsed_frame(frame, host, end):
                    part = messages.read(value)
                    if not part.is_reply:
                        if frame.whole and frame.last and not reply.begun:
                            raise _no_reply(complaint(value, key), host)
                        if said := complaint(value, key):
                            raise _failed(said, host)
                        end.skipped += 1
                        continue
                    for chunk in reply.read(part, end):
                        yield chunk
                    if part.error is not None:
                        raise _failed(part.error, host)
                if reply.is_over or end.marked:
                    break
        _require_end(end, host)
    except ChatFailed:
        for chunk in reply.end(complete=False):
            yield chunk
        raise
    for chunk in reply.end(complete=end.finish != "length"):
        yield chunk
    yield reply.last_chunk(end)


class _Reply:
    """The reply so far. Parts become chunks."""

    def __init__(self, limits: ReplyLimits, tools: Sequence[str], habit: ThoughtHabit | None) -> None:
        self._limits = limits
        self._thoughts = ThoughtSplitter(habit, calls=bool(tools))
        self._written, self._pondered = WrittenCalls(tools), WrittenCalls(tools)
        self._calls = ToolCallAssembler(tools)
        self._surrogates = _SurrogateJoiner()
        self._usage: Mapping[str, Any] | None = None
        self._room = limits.characters
        self._characters = 0
        self._refused = self._called = self._said = False
        self.begun = False

    @property
    def is_over(self) -> bool:
        """Whether the reply has used up its limit."""
        return self._room < 0

    def read(self, part: Part, end: StreamEnd) -> Iterator[StreamChunk]:
        """Yield the chunks of the next part."""
        self.begun = True
        self._usage = part.usage or self._usage
        self._calls.read(part.tool_calls)
        self._refused = self._refused or bool(part.refusal)
        end.finish = part.finish or end.finish
        end.marked = end.marked or part.whole
        most = max(self._room, 0) + 1_000  # of one piece: text beyond the limit is never read
        text = self._surrogates.joined(part.text[:most]) + encodable(part.refusal[:most])
        pieces = self._thoughts.read(encodable(part.reasoning[:most]), text)
        heard = bool(part.reasoning or text)
        for chunk in self._limited(self._without_calls(pieces)):
            heard = False
            yield chunk
        if heard and not self.is_over:
            yield StreamChunk()  # received text is held back
        if self.is_over:
            end.cut_off(
                f"went on beyond its limit of {pluralize(self._limits.max_tokens, 'token')}, and was ended"
            )

    def end(self, *, complete: bool) -> Iterator[StreamChunk]:
        """Yield held-back text and the tool calls."""
        if self.is_over:
            return
        yield from self._without_calls(self._thoughts.end(complete=complete))
        text, written = self._written.end(search=complete and not self._calls.begun)
        if text:
            self._said = True
            self._characters += len(text)
            yield StreamChunk(text_delta=text)
        if not complete:
            return
        calls = (*self._calls.calls(), *written)
        if not calls and not self._said:  # a model may call a tool without ending its thoughts first
            calls = self._pondered.end(only_marked=True)[1]
        for call in calls:
            self._called = True
            yield StreamChunk(tool_call=call)

    def last_chunk(self, end: StreamEnd) -> StreamChunk:
        """Return the chunk that ends the reply."""
        finish = end.finish or "stop"
        if self._refused and finish == "stop":
            finish = REFUSAL
        if self._called and finish == "stop":
            finish = "tool_calls"
        usage = believable_usage(self._usage, self._characters, self._limits.max_tokens)
        return StreamChunk(finish=finish, usage=usage, skipped=end.skipped, cut=end.cut)

    def _without_calls(self, chunks: Iterator[StreamChunk]) -> Iterator[StreamChunk]:
        for chunk in chunks:
            if chunk.takes_back:
                self._written.forget()
                self._said = False
            self._pondered.read(chunk.reasoning_delta)
            text = self._written.read(chunk.text_delta)
            self._said = self._said or bool(text.strip())
            if text or chunk.reasoning_delta:
                yield chunk if text == chunk.text_delta else replace(chunk, text_delta=text)

    def _limited(self, chunks: Iterator[StreamChunk]) -> Iterator[StreamChunk]:
        """Limit the chunks to the maximum characters. A thought that was text before is counted once."""
        for chunk in chunks:
            size = len(chunk.text_delta) + (0 if chunk.takes_back else len(chunk.reasoning_delta))
            self._characters += size
            yield chunk if size <= self._room else _first_characters(chunk, self._room)
            self._room = max(self._room - size, -1)
            if self._room < 0:
                return


class _SurrogateJoiner:
    """Joins surrogates that arrive as two pieces, `\\ud83d` and `\\ude00`. A single half becomes �."""

    def __init__(self) -> None:
        self._buffer = ""

    def joined(self, text: str) -> str:
        text = self._buffer + text
        self._buffer = text[-1] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return encodable(text[: len(text) - len(self._buffer)])


def _first_characters(piece: StreamChunk, count: int) -> StreamChunk:
    return replace(piece, text_delta=piece.text_delta[:count], reasoning_delta=piece.reasoning_delta[:count])


def _require_end(end: StreamEnd, host: str) -> None:
    if not end.finish and not end.marked:
        raise ChatFailed(f"The reply from {host} stopped before its end.", hint=ASK_AGAIN)


def _failed(message: str, host: str) -> ChatFailed:
    if not message:
        return ChatFailed(f"{host} broke the reply off.", hint=ASK_AGAIN)
    if message.replace("_", "").isalnum() and message == message.lower():  # a program's identifier
        return ChatFailed(f"{host} broke the reply off ({message}).", hint=ASK_AGAIN)
    return ChatFailed(f"{host} reported an error: {message}.", hint=ASK_AGAIN)


def _no_reply(said: str, host: str) -> ChatFailed:
    quoted = f": {said}" if said else ""
    return ChatFailed(f"{host} sent something that is no chat reply{quoted}.", hint=CHECK_ADDRESS)
