"""Write the answer from the numbered sources. The chat model streams it, or sentences are quoted without a model."""

import asyncio
import hashlib
import secrets
from collections.abc import Container, Coroutine, MutableMapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from core.config.knobs import AnswerKnobs, Length
from core.errors import ChatFailed
from core.model import (
    NO_CLIENT,
    Answer,
    AnswerKind,
    ClientRequest,
    Exchange,
    Message,
    Phase,
    ReplyText,
    Severity,
    Source,
    Usage,
)
from core.ports import Chat, Embed
from core.run.events import Emit, Note, PhaseEnded, PhaseStarted, Prompted, Purpose, TokensWritten
from core.stages.answering.answer_prompt import NOT_FOUND, prompt
from core.stages.answering.answer_writer import AnswerWriter
from core.stages.answering.answerability import VERDICT_SECONDS, VERDICT_TOKENS, check_answerability
from core.stages.answering.extractive_answer import extractive_answer
from core.stages.answering.wordless_reply import FILTERED, wordless
from core.stages.metered_models import MeteredChat, MeteredEmbed
from core.stages.run_budget import RunBudget
from core.stages.time_budget import UNLIMITED, TimeBudget, timeout_of
from core.text.sanitize import CHARACTERS_A_TOKEN, estimated_tokens, pluralize

NOTHING_RELEVANT = "Nothing relevant was found, so there is no answer."
"""The answer when no passage became a source. No model is asked."""
NOT_FOLLOWED = (
    "Sentences of the sources are quoted, so the instructions of the chat client were not followed."
)
"""A note on an answer that no model wrote."""
QUOTED_BY_CHOICE = "Sentences of the sources are quoted instead of a written answer, by choice."
"""A note on an answer that was quoted because a person did not wait for the chat model."""
OUT_OF_TIME = (
    "The chat model had not begun to write when its time was over, so sentences of the sources are quoted."
)
CUT_OFF = "The answer was cut off, to be given within {:g} s."
ASK_AGAIN = "Ask again, or have the time limit raised."
"""Messages and a hint for an answer that ran out of time."""
ANOTHER_MODEL = "What came is kept. Ask again, or pick another model."
"""A hint for a reply that the model did not finish."""
MAX_TOKENS = {Length.SHORT: 1500, Length.NORMAL: 3000, Length.LONG: 6000}
"""Token limits of a reply, well above the requested length: reasoning models also spend tokens on reasoning."""


def reached_limit(limit: int, usage: Usage | None) -> tuple[str, str]:
    """Return the limit that cut a reply, with a hint.

    `limit` is the number of requested tokens. A server only reports that a limit was reached. The tokens that it
    counted show whether this limit was reached, or a lower limit of the server or of the model's context.
    """
    if usage is None:
        return (
            f"a limit of tokens: that of {limit:,} for an answer, or a lower one of the model or its server",
            "Ask a narrower question, or choose fewer passages.",
        )
    if usage.completion_tokens >= limit:
        return (
            f"the limit of {pluralize(limit, 'token')} for an answer",
            "Ask a narrower question, or raise that limit.",
        )
    return (
        f"a limit of the model or its server after {pluralize(usage.completion_tokens, 'token')}, with "
        f"{usage.prompt_tokens:,} of prompt and before the limit of {limit:,} for an answer",
        "Its context holds the prompt and the answer: choose fewer passages, or raise the context or reply limit "
        "of the server.",
    )


class AnswerBrokeOff(ChatFailed):
    """The chat model failed after it had begun to write. `partial` is the answer so far."""

    def __init__(self, message: str, *, hint: str, partial: Answer) -> None:
        super().__init__(message, hint=hint)
        self.partial = partial


async def answer(  # noqa: PLR0917  # a stage takes what it uses
    question: str,
    sources: Sequence[Source],
    knobs: AnswerKnobs,
    chat: Chat | None,
    embed: Embed,
    emit: Emit,
    *,
    history: Sequence[Exchange] = (),
    client: ClientRequest = NO_CLIENT,
    answers: MutableMapping[str, Answer] | None = None,
    budget: TimeBudget = UNLIMITED,
    run_budget: RunBudget | None = None,
    quote: asyncio.Event | None = None,
) -> Answer:
    """Answer the question only from `sources`, written or quoted.

    `history` only shows the meaning of the question. The pieces of `TokensWritten` join to the answer's text. The
    instructions and the whole message of a chat `client` reach the chat model too. Without sources and without such a
    message, no model is asked.

    The best-supported sentences, found with `embed`, are quoted without a chat model, if the model has not begun to
    write when its time in `budget` is over, or if `run_budget` does not cover it. Setting `quote` cancels an unfinished
    reply and quotes too. A stored answer in `answers` to exactly this request is used again without asking a model; a
    new and complete answer is added.

    Raises:
        ChatFailed: when the model cannot be asked or writes nothing.
        AnswerBrokeOff: when the reply breaks off. `partial` is the text so far.
    """
    emit(PhaseStarted(Phase.ANSWER))
    result: Answer | None = None
    if not sources and not (chat and client.message):
        emit(TokensWritten(NOTHING_RELEVANT))
        result = Answer(kind=AnswerKind.NOT_FOUND, text=NOTHING_RELEVANT)
    elif chat:
        writing = _written_answer(
            question, sources, knobs, chat, emit, history, client, answers, budget, run_budget
        )
        result = await _unless_set(quote, writing, emit)
    if result is None:
        if client.instructions:
            emit(Note(Phase.ANSWER, NOT_FOLLOWED))
        result = await _quoted_answer(question, sources, knobs, embed, emit, budget)
    emit(PhaseEnded(Phase.ANSWER))
    return result


async def _unless_set(
    quote: asyncio.Event | None, writing: Coroutine[Any, Any, Answer | None], emit: Emit
) -> Answer | None:
    """Await `writing`, unless `quote` is set first. That cancels `writing`, drops its text and returns None."""
    if quote is None:
        return await writing
    quote.clear()
    work, chosen = asyncio.ensure_future(writing), asyncio.ensure_future(quote.wait())
    try:
        await asyncio.wait({work, chosen}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
    finally:
        chosen.cancel()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    emit(PhaseStarted(Phase.ANSWER))
    emit(Note(Phase.ANSWER, QUOTED_BY_CHOICE))
    return None


def digest_of(
    question: str,
    sources: Sequence[Source],
    knobs: AnswerKnobs,
    model: str,
    history: Sequence[Exchange] = (),
    *,
    client: ClientRequest = NO_CLIENT,
) -> str:
    """Return a digest of a model's request. Other words, sources, settings or models give another digest."""
    prompt_sources = [(source.number, source.title, source.url, source.text) for source in sources]
    asked = (question, prompt_sources, knobs, model, client.instructions, client.message, *history)
    return hashlib.sha256(repr(asked).encode("utf-8", "replace")).hexdigest()


async def _quoted_answer(  # noqa: PLR0917
    question: str, sources: Sequence[Source], knobs: AnswerKnobs, embed: Embed, emit: Emit, budget: TimeBudget
) -> Answer:
    """Quote sentences as the answer. The token limit is applied to an estimate."""
    writer = AnswerWriter(emit, knobs.stop, knobs.max_tokens * CHARACTERS_A_TOKEN or None)
    metered = MeteredEmbed(embed, Phase.ANSWER, emit)
    seconds = timeout_of(budget.left)
    quoted = await extractive_answer(question, sources, knobs, metered, emit, writer, seconds=seconds)
    if writer.cut:
        reached = (
            f"The quotations reached the limit of {pluralize(knobs.max_tokens, 'token')}, by an estimate."
        )
        emit(Note(Phase.ANSWER, reached, "Ask a narrower question, or raise that limit.", Severity.WARNING))
        return replace(quoted, finish="length", complete=False)
    return quoted


async def _written_answer(  # noqa: PLR0917
    question: str,
    sources: Sequence[Source],
    knobs: AnswerKnobs,
    chat: Chat,
    emit: Emit,
    history: Sequence[Exchange],
    client: ClientRequest,
    answers: MutableMapping[str, Answer] | None,
    budget: TimeBudget,
    run_budget: RunBudget | None,
) -> Answer | None:
    """Let the chat model answer, or reuse its stored answer.

    Returns None if the time was over before the first word, or if the run's budget does not cover the reply.
    """
    digest = digest_of(question, sources, knobs, chat.identity, history, client=client)
    if answers is not None and not knobs.ask_first and (cached := answers.get(digest)):
        emit(TokensWritten(cached.text))
        return replace(cached, usage=None, cached=True)
    answer = None
    if budget.writing_left > 0:
        messages = prompt(question, sources, knobs, secrets.token_hex(8), history, client=client)
        if run_budget and not covered(run_budget, messages, knobs, chat, emit):
            return None
        if knobs.ask_first and (note := await _doubt(question, sources, chat, emit, budget, run_budget)):
            emit(note)
        emit(Prompted(messages, chat.identity))
        metered = MeteredChat(chat, Phase.ANSWER, emit, seconds=budget.writing_left)
        numbers = frozenset(source.number for source in sources)
        answer = await streamed_answer(messages, knobs, metered, emit, budget, numbers=numbers)
    if answer is None:
        emit(Note(Phase.ANSWER, OUT_OF_TIME, ASK_AGAIN, Severity.WARNING))
    elif answers is not None and answer.complete and answer.finish != "refusal":
        answers[digest] = answer
    return answer


async def _doubt(  # noqa: PLR0917
    question: str,
    sources: Sequence[Source],
    chat: Chat,
    emit: Emit,
    budget: TimeBudget,
    run_budget: RunBudget | None,
) -> Note | None:
    """Ask the chat model for doubts about the sources. It is not asked if the budget does not cover that."""
    prompt_tokens = estimated_tokens(sum(len(source.text) for source in sources))
    if run_budget and run_budget.refusal(prompt_tokens, VERDICT_TOKENS, chat.identity):
        return None
    seconds = min(budget.writing_left, VERDICT_SECONDS)
    metered = MeteredChat(chat, Phase.ANSWER, emit, purpose=Purpose.VERDICT, seconds=seconds)
    return await check_answerability(question, sources, metered, seconds)


def covered(
    run_budget: RunBudget, messages: Sequence[Message], knobs: AnswerKnobs, chat: Chat, emit: Emit
) -> bool:
    """Check that the remaining budget covers a reply. A note gives the reason for a refusal, or a doubt."""
    prompt_tokens = estimated_tokens(sum(len(message.content) for message in messages))
    refusal = run_budget.refusal(prompt_tokens, _token_limit(knobs), chat.identity)
    if note := refusal or run_budget.doubt(chat.identity):
        emit(note)
    return refusal is None


def _token_limit(knobs: AnswerKnobs) -> int:
    return knobs.max_tokens or MAX_TOKENS[knobs.length]


async def streamed_answer(
    messages: Sequence[Message],
    knobs: AnswerKnobs,
    chat: Chat,
    emit: Emit,
    budget: TimeBudget,
    *,
    numbers: Container[int] | None = None,
) -> Answer | None:
    """Stream the chat model's reply as the answer.

    Args:
        messages: the prompt.
        knobs: length, temperature and stop sequences.
        chat: the model.
        emit: called with every event.
        budget: the time of the run.
        numbers: the sources that may be cited. Citations are written as `[n]`. None: the model cites nothing.

    Returns:
        The answer, or None if the time of the budget is over before the first word.

    Raises:
        ChatFailed: when the model cannot be asked or writes nothing.
        AnswerBrokeOff: when the reply breaks off. `partial` is the text so far.
    """
    writer, usage, cut = AnswerWriter(emit, knobs.stop, numbers=numbers), None, ""
    said = ReplyText()
    limit = _token_limit(knobs)
    reply = chat(messages, max_tokens=limit, temperature=knobs.temperature, stop=knobs.stop)
    waiting = asyncio.timeout(timeout_of(budget.writing_left))
    try:
        async with waiting, aclosing(reply) as deltas:
            async for delta in deltas:
                said.read(delta)
                usage, cut = delta.usage or usage, delta.cut or cut
                if delta.takes_back:
                    writer.take_back()
                writer.write(delta.text_delta)
                if writer.stopped:  # the server may not know stop sequences
                    said.finish = "stop"
                    break
    except TimeoutError:
        if not waiting.expired():
            raise
        writer.close()
        if not writer.text.strip():
            return None
        emit(Note(Phase.ANSWER, CUT_OFF.format(budget.seconds), ASK_AGAIN, Severity.WARNING))
        return _answer(writer.text, chat.identity, said.finish, usage, complete=False)
    except ChatFailed as error:
        writer.close()
        if not writer.text:
            raise
        partial = _answer(writer.text, chat.identity, said.finish, usage, complete=False)
        raise AnswerBrokeOff(
            f"The answer broke off: {error.message}", hint=error.hint, partial=partial
        ) from error
    writer.close()
    if not writer.text.strip() and not (knobs.stop and said.finish == "stop" and not said.reasoning):
        raise _empty_reply(chat.identity, said, limit, usage, cut)
    if note := _ending(chat.identity, said.finish, limit, usage, cut):
        emit(note)
    complete = said.finish not in ("length", "content_filter")
    return _answer(writer.text, chat.identity, said.finish, usage, complete=complete)


def _ending(model: str, finish: str, limit: int, usage: Usage | None, cut: str) -> Note | None:
    """Return a note on an unusual end, or None. Such an end is a break, a limit, a filter or a refusal."""
    if cut:
        return Note(Phase.ANSWER, f"The answer {cut}.", ANOTHER_MODEL, Severity.WARNING)
    match finish:
        case "length":
            reached, hint = reached_limit(limit, usage)
            return Note(Phase.ANSWER, f"The answer reached {reached}.", hint, Severity.WARNING)
        case "content_filter":
            ended = "The content filter of the model's provider ended the answer."
            return Note(Phase.ANSWER, ended, FILTERED, Severity.WARNING)
        case "refusal":
            refused = f"{model} refused to answer. What it said is shown."
            return Note(Phase.ANSWER, refused, FILTERED, Severity.WARNING)
        case _:
            return None


def _answer(text: str, model: str, finish: str | None, usage: Usage | None, *, complete: bool) -> Answer:
    found_none = (
        complete and text.strip().strip("\"'*_ ").rstrip(".").lower() == NOT_FOUND.rstrip(".").lower()
    )
    kind = AnswerKind.NOT_FOUND if found_none else AnswerKind.WRITTEN
    return Answer(kind=kind, text=text, model=model, usage=usage, finish=finish or None, complete=complete)


def _empty_reply(model: str, said: ReplyText, limit: int, usage: Usage | None, cut: str) -> ChatFailed:
    """Return the error for a reply without an answer. Its reasoning is in the run."""
    if cut:
        return ChatFailed(f"The reply of {model} {cut}, without a word of the answer.", hint=ANOTHER_MODEL)
    if said.finish == "length":
        reached, hint = reached_limit(limit, usage)
        spent = " All of it was spent on reasoning." if said.reasoning else ""
        return ChatFailed(
            f"{model} reached {reached}, and had not written a word of the answer.{spent}",
            hint=f"Choose a model that reasons less. {hint}",
        )
    if failure := wordless(model, said):
        return failure
    return ChatFailed(f"{model} sent an empty answer.", hint="Ask again, or pick another model.")
