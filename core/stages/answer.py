"""Write the answer from the numbered sources: streamed by the chat model, or quoted when there is none."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import aclosing

from core.config.knobs import AnswerKnobs, Length
from core.errors import ChatFailed
from core.model import Answer, AnswerKind, Phase, Source, Usage
from core.ports import Chat, Embed
from core.run.events import Emit, Note, PhaseEnded, PhaseStarted, Prompted, TokensWritten
from core.stages.answer_prompt import NOT_FOUND, prompt
from core.stages.extractive_answer import extractive_answer
from core.stages.token_limit import reached_limit

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
        result = await extractive_answer(question, sources, knobs, embed, emit)
    else:
        result = await _stream_answer(question, sources, knobs, chat, emit)
    emit(PhaseEnded(Phase.ANSWER))
    return result


async def _stream_answer(
    question: str, sources: Sequence[Source], knobs: AnswerKnobs, chat: Chat, emit: Emit
) -> Answer:
    messages = prompt(question, sources, knobs, boundary=secrets.token_hex(8))
    emit(Prompted(messages, chat.identity))
    text, finish, usage = "", None, None
    try:
        limit = MAX_TOKENS[knobs.length]
        async with aclosing(chat(messages, max_tokens=limit, temperature=knobs.temperature)) as deltas:
            async for delta in deltas:
                finish, usage = delta.finish or finish, delta.usage or usage
                piece = delta.text if text else delta.text.lstrip()
                if piece:
                    text += piece
                    emit(TokensWritten(piece))
    except ChatFailed as error:
        if not text:
            raise
        partial = _answer(text, chat.identity, finish, usage, complete=False)
        raise ChatFailed(
            f"The answer broke off: {error.message}", hint=error.hint, partial=partial
        ) from error
    if not text.strip():
        raise _empty_reply(chat.identity, finish, limit, usage)
    if finish == "length":
        reached, hint = reached_limit(limit, usage)
        emit(Note(Phase.ANSWER, f"The answer reached {reached}.", hint))
    return _answer(text, chat.identity, finish, usage, complete=finish not in ("length", "content_filter"))


def _answer(text: str, model: str, finish: str | None, usage: Usage | None, *, complete: bool) -> Answer:
    found_none = (
        complete and text.strip().strip("\"'*_ ").rstrip(".").lower() == NOT_FOUND.rstrip(".").lower()
    )
    kind = AnswerKind.NOTHING if found_none else AnswerKind.WRITTEN
    return Answer(kind=kind, text=text, model=model, usage=usage, finish=finish, complete=complete)


def _empty_reply(model: str, finish: str | None, limit: int, usage: Usage | None) -> ChatFailed:
    if finish == "length":
        reached, hint = reached_limit(limit, usage)
        return ChatFailed(
            f"{model} reached {reached}, and had not written a word of the answer.",
            hint=f"Choose a model that reasons less. {hint}",
        )
    if finish == "content_filter":
        return ChatFailed(
            f"{model} withheld its answer.", hint="Rephrase the question, or choose another model."
        )
    return ChatFailed(f"{model} sent an empty answer.", hint="Ask again, or pick another model.")
