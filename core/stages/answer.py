"""Write the answer from the numbered sources: streamed by the chat model, or quoted when there is none."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

from core.config.knobs import AnswerKnobs, Length
from core.errors import ChatFailed
from core.model import Answer, AnswerKind, Phase, Source, Usage
from core.ports import Chat, Embed
from core.run.events import Emit, Note, PhaseEnded, PhaseStarted, Prompted, TokensWritten
from core.stages.answer_prompt import NOT_FOUND, prompt
from core.stages.answer_writer import AnswerWriter
from core.stages.extractive_answer import extractive_answer
from core.stages.metered_models import MeteredChat, MeteredEmbed
from core.text.sanitize import CHARACTERS_A_TOKEN

NOTHING_RELEVANT = "Nothing relevant was found, so there is no answer."
"""The answer when no passage became a source; no model is asked."""

MAX_TOKENS = {Length.SHORT: 1500, Length.NORMAL: 3000, Length.LONG: 6000}
"""Token limits of a reply, well above the requested length: reasoning models spend tokens on reasoning too."""


async def answer(  # noqa: PLR0917  # a stage takes what it uses
    question: str,
    sources: Sequence[Source],
    knobs: AnswerKnobs,
    chat: Chat | None,
    embed: Embed,
    emit: Emit,
) -> Answer:
    """Answer from `sources` and nothing else. The pieces of `TokensWritten` join to the answer's text.

    Without sources nobody is asked; without a chat model the best-supported sentences are quoted, and
    `embed` finds them.

    Raises:
        ChatFailed: when the model cannot be asked, writes nothing, or breaks off; `partial` is what came.
    """
    emit(PhaseStarted(Phase.ANSWER))
    if not sources:
        emit(TokensWritten(NOTHING_RELEVANT))
        result = Answer(kind=AnswerKind.NOTHING, text=NOTHING_RELEVANT)
    elif chat is None:
        result = await _quoted_answer(question, sources, knobs, MeteredEmbed(embed, Phase.ANSWER, emit), emit)
    else:
        result = await _written_answer(question, sources, knobs, MeteredChat(chat, Phase.ANSWER, emit), emit)
    emit(PhaseEnded(Phase.ANSWER))
    return result


async def _quoted_answer(
    question: str, sources: Sequence[Source], knobs: AnswerKnobs, embed: Embed, emit: Emit
) -> Answer:
    """The extractive answer. A limit of tokens is kept by their estimated number."""
    writer = AnswerWriter(emit, knobs.stop, knobs.max_tokens * CHARACTERS_A_TOKEN or None)
    quoted = await extractive_answer(question, sources, knobs, embed, emit, writer)
    if writer.cut:
        emit(_limit_note(knobs.max_tokens))
        return replace(quoted, finish="length", complete=False)
    return quoted


async def _written_answer(
    question: str, sources: Sequence[Source], knobs: AnswerKnobs, chat: Chat, emit: Emit
) -> Answer:
    messages = prompt(question, sources, knobs, boundary=secrets.token_hex(8))
    emit(Prompted(messages, chat.identity))
    writer, finish, usage = AnswerWriter(emit, knobs.stop), None, None
    limit = knobs.max_tokens or MAX_TOKENS[knobs.length]
    reply = chat(messages, max_tokens=limit, temperature=knobs.temperature, stop=knobs.stop)
    try:
        async with aclosing(reply) as deltas:
            async for delta in deltas:
                finish, usage = delta.finish or finish, delta.usage or usage
                writer.write(delta.text_delta)
                if writer.stopped:  # of a server that does not know stop sequences
                    finish = "stop"
                    break
    except ChatFailed as error:
        writer.close()
        if not writer.text:
            raise
        partial = _answer(writer.text, chat.identity, finish, usage, complete=False)
        raise ChatFailed(
            f"The answer broke off: {error.message}", hint=error.hint, partial=partial
        ) from error
    writer.close()
    if not writer.text.strip() and not (knobs.stop and finish == "stop"):
        raise _empty_reply(chat.identity, finish, limit)
    if finish == "length":
        emit(_limit_note(limit))
    complete = finish not in ("length", "content_filter")
    return _answer(writer.text, chat.identity, finish, usage, complete=complete)


def _limit_note(limit: int) -> Note:
    return Note(
        Phase.ANSWER, f"The answer reached the limit of {limit:,} tokens.", "Ask a narrower question."
    )


def _answer(text: str, model: str, finish: str | None, usage: Usage | None, *, complete: bool) -> Answer:
    found_none = (
        complete and text.strip().strip("\"'*_ ").rstrip(".").lower() == NOT_FOUND.rstrip(".").lower()
    )
    kind = AnswerKind.NOTHING if found_none else AnswerKind.WRITTEN
    return Answer(kind=kind, text=text, model=model, usage=usage, finish=finish, complete=complete)


def _empty_reply(model: str, finish: str | None, limit: int) -> ChatFailed:
    if finish == "length":
        return ChatFailed(
            f"{model} spent all {limit:,} tokens before it wrote a word of the answer.",
            hint="Choose a model that reasons less, or a longer answer.",
        )
    if finish == "content_filter":
        return ChatFailed(
            f"{model} withheld its answer.", hint="Rephrase the question, or choose another model."
        )
    return ChatFailed(f"{model} sent an empty answer.", hint="Ask again, or pick another model.")
