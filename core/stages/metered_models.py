"""Report the tokens of each model call as an event of the run."""

import math
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Unpack

from core.errors import ChatFailed
from core.model import Embeddings, Message, ModelUsage, Phase, ReplyText, StreamChunk, Usage
from core.ports import Chat, ChatOptions, Embed, OnRetry
from core.run.events import Emit, ModelAsked, ModelHeard, ModelRetry, ModelThought, ModelUsed, Purpose
from core.stages.answering.wordless_reply import wordless
from core.text.query_parser import QueryReader
from core.text.repetition import RepetitionGuard
from core.text.sanitize import estimated_tokens

HEARD_EVERY = 1.0
"""The minimum seconds between two reports that the model has sent something."""
_MOST_TOKENS_A_CHARACTER, _MOST_TOKENS_BESIDE = 4, 50_000
"""The maximum tokens per character, and the maximum tokens that a server adds by templates, tools and files."""


class MeteredChat:
    """A `Chat` port that reports requests, waits, replies and usage.

    The tokens of a reply are reported once, however it ends, as `ModelUsed` of `phase`. A wait for another attempt is
    reported as `ModelRetry` and yields no chunk. The request is reported as `ModelAsked`, received chunks as
    `ModelHeard`, once a second at most, and reasoning as `ModelThought`. Reading ends when a model loops, and the last
    chunk's `cut` then says so.

    The server's token counts are used. If it sent none, or the reply was cut off earlier, they are estimated from the
    texts. A request that was refused before the first piece used none.
    """

    def __init__(
        self,
        chat: Chat,
        phase: Phase,
        emit: Emit,
        *,
        purpose: Purpose | None = None,
        seconds: float = math.inf,
    ) -> None:
        """Report `seconds` as the caller's time limit.

        The limit is not enforced here. `purpose` defaults to planning in the phase of that name, else to writing an
        answer.
        """
        self._purpose = purpose or (Purpose.PLAN if phase is Phase.PLAN else Purpose.ANSWER)
        self.identity, self.host, self.silence = chat.identity, chat.host, chat.silence
        self._seconds = seconds
        self._chat, self._phase, self._emit = chat, phase, emit

    async def __call__(
        self, messages: Sequence[Message], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[StreamChunk]:
        """Stream the reply. Raises `ChatFailed`."""
        usage: Usage | None = None
        characters, refused = 0, False
        written, thought = RepetitionGuard(), RepetitionGuard()
        limits = _limit(self.silence), _limit(max(self._seconds, 0.0))
        self._emit(ModelAsked(self._phase, self.identity, self._purpose, *limits))
        sent = sum(len(message.content) for message in messages)
        most = _MOST_TOKENS_A_CHARACTER * sent + _MOST_TOKENS_BESIDE
        heard, thoughts = time.perf_counter(), ""
        reply = self._chat(messages, **options)
        try:
            async with aclosing(reply) as chunks:
                async for chunk in chunks:
                    if chunk.retry:
                        self._emit(ModelRetry(self._phase, chunk.retry))
                        continue
                    thoughts += "" if chunk.takes_back else chunk.reasoning_delta
                    is_due = (now := time.perf_counter()) - heard >= HEARD_EVERY
                    if is_due:
                        self._emit(ModelHeard(self._phase))
                        heard = now
                    if thoughts and (is_due or chunk.text_delta or chunk.takes_back):
                        self._emit(ModelThought(self._phase, thoughts))
                        thoughts = ""
                    if chunk.takes_back:
                        self._emit(ModelThought(self._phase, chunk.reasoning_delta, takes_back=True))
                    if chunk.usage and chunk.usage.prompt_tokens > most:
                        chunk = replace(chunk, usage=None)  # noqa: PLW2901  # no prompt of this length has so many
                    usage = chunk.usage or usage
                    characters += len(chunk.text_delta)
                    characters += 0 if chunk.takes_back else len(chunk.reasoning_delta)
                    characters += len(chunk.tool_call.function.arguments) if chunk.tool_call else 0
                    yield chunk
                    if written.read(chunk.text_delta) or thought.read(chunk.reasoning_delta):
                        yield StreamChunk(finish="length", cut=written.loop or thought.loop)
                        return
        except ChatFailed:
            refused = not characters
            raise
        finally:
            if thoughts:
                self._emit(ModelThought(self._phase, thoughts))
            if usage or not refused:
                self._report(usage, messages, characters)

    def _report(self, usage: Usage | None, messages: Sequence[Message], characters: int) -> None:
        counts = usage or Usage(
            prompt_tokens=estimated_tokens(sum(len(message.content) for message in messages)),
            completion_tokens=estimated_tokens(characters),
        )
        model_usage = ModelUsage(model=self.identity, tokens=counts, estimated=usage is None)
        self._emit(ModelUsed(self._phase, model_usage))


def _limit(seconds: float) -> float | None:
    return None if math.isinf(seconds) else seconds


async def read_queries(reply: AsyncGenerator[StreamChunk], reader: QueryReader) -> AsyncGenerator[str]:
    """Yield the reader's queries as the reply grows. Once they are enough, the rest is not awaited.

    Raises:
        ChatFailed: when the reply fails, or when a refusal, a filter or reasoning left no query.
    """
    said = ReplyText()
    async with aclosing(reply) as chunks:
        async for chunk in chunks:
            said.read(chunk)
            if chunk.takes_back:
                reader.restart()
            for query in reader.read(chunk.text_delta):
                yield query
            if reader.done:
                return
    if said.finish != "length":  # otherwise the last line may be half a query
        for query in reader.end():
            yield query
    if not reader.queries and (failure := wordless("The model", said)):
        raise failure


class MeteredEmbed:
    """An `Embed` port that reports usage as `ModelUsed` of `phase` and waits as `ModelRetry`."""

    def __init__(self, embed: Embed, phase: Phase, emit: Emit) -> None:
        self.identity, self.host = embed.identity, embed.host
        self.batch, self.languages, self.reads_whole = embed.batch, embed.languages, embed.reads_whole
        self._embed, self._phase, self._emit = embed, phase, emit

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        """Embed the texts as unit vectors. Raises `EmbedFailed`."""
        embeddings = await self._embed(
            texts, on_retry or (lambda retry: self._emit(ModelRetry(self._phase, retry)))
        )
        if embeddings.usage:
            self._emit(ModelUsed(self._phase, embeddings.usage))
        return embeddings
