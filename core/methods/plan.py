"""The plan of a deep run: proposed sub-questions, and an estimate for each."""

import re
from collections.abc import Sequence
from statistics import median

from core.config.knobs import Knobs, Length
from core.config.prices import Prices
from core.config.run_knobs import Method
from core.errors import ChatFailed, NotConnected
from core.methods.run_context import RunContext
from core.model import Message, Phase, Severity, Usage
from core.ports import Chat
from core.run.events import Note, PhaseEnded, PhaseStarted
from core.run.reports.plan_events import Estimate, PlanProposed
from core.run.run_summary import RunSummary
from core.run.state import RunStatus
from core.stages.answering.answer_prompt import SOURCE_TOKENS
from core.stages.metered_models import MeteredChat, read_queries
from core.stages.streams import collected
from core.text.query_parser import QueryReader
from core.text.questions import MOST_SUB_QUESTIONS, SUB_QUESTION_LIMIT
from core.text.sanitize import estimated_tokens, one_line

LINES_READ = 60
"""The most sub-questions to read from a reply. `MOST_SUB_QUESTIONS` are kept."""

_MAX_TOKENS = 2000
"""Leaves room for a reasoning model."""
_LABEL = re.compile(r"^(?:sub-?)?question\s*#?\d{0,2}\s*[:.]\s*", re.IGNORECASE)

_INSTRUCTIONS = 900
"""Estimated tokens of the prompts for queries and for an answer, without the sources."""
_SOURCE_HEAD = 60
"""Estimated tokens of a source's title, address and tags."""
_WRITTEN = {Length.SHORT: 200, Length.NORMAL: 500, Length.LONG: 1400}
"""Estimated tokens of queries and an answer, by the length requested in the prompts."""
_WRITING_SECONDS = 15.0
"""Assumed seconds for two chat replies, without earlier runs."""


async def propose_plan(context: RunContext, earlier_runs: Sequence[RunSummary] = ()) -> None:
    """Ask the chat model for sub-questions.

    The first part of the run ends with them. If the model writes none, or fails, the question itself is the only
    sub-question, and a note has the reason. `earlier_runs` are the basis of the estimate.

    Raises:
        NotConnected: when no chat model is connected.
    """
    question, emit, chat = context.question, context.emit, context.ports.chat
    if chat is None:
        raise NotConnected(
            "The method deep needs a chat model, and none is connected.",
            hint="Connect one, or choose pipeline as the method.",
        )
    emit(PhaseStarted(Phase.PLAN))
    sub_questions: tuple[str, ...] = ()
    trouble, hint = f"{chat.identity} wrote no plan.", ""
    try:
        sub_questions = await _written_plan(question, MeteredChat(chat, Phase.PLAN, emit))
    except ChatFailed as error:
        trouble, hint = f"No plan could be written: {error.message}", error.hint
    if not sub_questions:
        emit(Note(Phase.PLAN, f"{trouble} The question itself is the plan: edit it.", hint, Severity.WARNING))
    if (written := len(sub_questions)) > MOST_SUB_QUESTIONS:
        kept = (
            f"{chat.identity} proposed {written}{' or more' if written == LINES_READ else ''} sub-questions"
        )
        emit(Note(Phase.PLAN, f"{kept}. The first {MOST_SUB_QUESTIONS} are kept."))
    emit(PhaseEnded(Phase.PLAN))
    emit(
        PlanProposed(
            sub_questions=sub_questions[:MOST_SUB_QUESTIONS] or (one_line(question, len(question)),),
            estimate=estimate(context.knobs, context.ports.prices, chat.identity, earlier_runs),
            author=chat.identity if sub_questions else "",
        )
    )


async def _written_plan(question: str, chat: Chat) -> tuple[str, ...]:
    """Return at most `LINES_READ` distinct sub-questions. The reply is not read further."""
    reply = chat(plan_prompt(question), max_tokens=_MAX_TOKENS, temperature=0.0)
    written = await collected(read_queries(reply, QueryReader(LINES_READ, SUB_QUESTION_LIMIT)))
    return tuple(filter(None, (_LABEL.sub("", text) for text in written)))


def plan_prompt(question: str) -> tuple[Message, ...]:
    """Return the prompt for sub-questions, one per line."""
    system = (
        "You plan the research for a report. You divide the question into sub-questions that are researched one by "
        "one, each by searches of its own, and that together answer it.\n\n"
        "Rules\n"
        "- Write 3 to 7 sub-questions, as few as the question needs, in the order in which a reader wants them.\n"
        "- Each can be understood, and searched for, without the question and without the others.\n"
        "- No two ask for the same thing, and none asks for a summary or a conclusion.\n"
        "- Use the language and the names of the question.\n"
        "- Reply with the sub-questions only, one a line, without numbers, headings or comments."
    )
    user = f"Question: {question}\n\nThe sub-questions, one a line:"
    return Message(role="system", content=system), Message(role="user", content=user)


def estimate(knobs: Knobs, prices: Prices, model: str, earlier_runs: Sequence[RunSummary] = ()) -> Estimate:
    """Estimate tokens, seconds and dollars per sub-question.

    Prompt tokens follow from the knobs. Written tokens and seconds are the median of earlier pipeline runs with a
    model's answer, or assumed without such runs.
    """
    done = [
        (run.usage.completion_tokens, run.seconds)
        for run in earlier_runs
        if run.status is RunStatus.DONE
        and run.knobs
        and run.knobs.run.method is Method.PIPELINE
        and run.usage
        and run.usage.completion_tokens
    ]
    source = estimated_tokens(knobs.chunk.size + 2 * knobs.rank.surroundings)
    read = _INSTRUCTIONS + knobs.rank.top_k * (_SOURCE_HEAD + min(source, SOURCE_TOKENS))
    written = round(median(tokens for tokens, _ in done)) if done else _WRITTEN[knobs.answer.length]
    seconds = median(s for _, s in done) if done else knobs.read.page_timeout + _WRITING_SECONDS
    usage = Usage(prompt_tokens=read, completion_tokens=written)
    price = prices.price(model)
    return Estimate(
        tokens=usage.total_tokens,
        seconds=seconds,
        dollars=price.of(usage).dollars if price else None,
        runs=len(done),
    )
