"""The method deep: research the sub-questions of an approved plan for one report.

Every section is on disk before the next begins, so that an interrupted run resumes at its section.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

from core.config.knobs import Length
from core.errors import BadInput, OpenQueryError
from core.methods.phases import (
    answer_from,
    answered_and_checked,
    find_passages,
    index_and_rank,
    numbered_sources,
)
from core.methods.run_context import RunContext
from core.model import Answer, AnswerKind, Phase, Severity, Source
from core.ports import Ports
from core.run.events import Note, SourcesChosen
from core.run.reports.plan_events import BriefStarted, SectionLeftOut, SectionStarted, SectionWritten
from core.run.reports.sections import report
from core.run.state import Run
from core.stages.answer import AnswerBrokeOff
from core.stages.partial_results import written_so_far
from core.stages.run_budget import RunBudget
from core.stages.streams import stream
from core.stages.time_budget import TimeBudget
from core.text.questions import checked_sub_questions


def approved_sub_questions(run: Run, sub_questions: Sequence[str]) -> tuple[str, ...]:
    """Return the sub-questions that a person approves.

    Raises:
        BadInput: when its plan does not wait for approval, or `checked_sub_questions` refuses the list.
    """
    if run.plan is None:
        raise BadInput("This run has no plan to approve.", hint="Ask the question by the method deep.")
    if run.sections or run.live:
        raise BadInput(
            "The plan of this run was approved before.",
            hint="Look at the sub-questions that are researched, or ask the question again.",
        )
    return checked_sub_questions(sub_questions)


async def research_sections(context: RunContext) -> None:
    """Research each unwritten section, and then write the report.

    A section that fails or exceeds the budget stays in the report as a heading with the reason. A cancelled run keeps
    the written sections and the unfinished section.

    Raises:
        OpenQueryError: the first failure, when no section could be written.
    """
    ports, recorder = context.ports, context.recorder
    faults: list[OpenQueryError] = []
    try:
        for number, section in enumerate(recorder.run.sections, 1):
            if section.answer is None:
                await ports.flush()
                try:
                    await _research_section(replace(context, question=section.question), number)
                except OpenQueryError as error:
                    recorder.emit(SectionLeftOut(number, error.message))
                    faults.append(error)
        if faults and not any(section.answer for section in recorder.run.sections):
            raise faults[0]
        await ports.flush()
        await _write_report(context)
    except asyncio.CancelledError:
        run = recorder.run
        if run.answer is None and (partial := written_so_far(run, ports.chat)):
            answered_and_checked(partial, run.sources, recorder)
        raise


async def _research_section(context: RunContext, number: int) -> None:
    emit, ports, recorder = context.emit, context.ports, context.recorder
    run_budget = _run_budget(ports, recorder.run)
    if reason := run_budget.exhausted():
        emit(SectionLeftOut(number, reason))
        return
    context = replace(context, budget=TimeBudget(run_budget.seconds_left))
    emit(SectionStarted(number))
    await find_passages(context)
    numbered = numbered_sources(recorder.run)
    emit(SourcesChosen(_shared(recorder.run, numbered)))
    try:
        answer = await answer_from(context, numbered)
    except AnswerBrokeOff as error:
        emit(Note(Phase.ANSWER, f"“{context.question}”: {error.message}", error.hint, Severity.WARNING))
        answer = error.partial
    tokens = _run_budget(ports, recorder.run).tokens - run_budget.tokens
    emit(SectionWritten(number, answer, numbered, tokens))


async def _write_report(context: RunContext) -> None:
    """Write the report: a short answer, then the sections.

    All pages are ranked for the question. The short answer uses the best sources of the sections.
    """
    emit, knobs, recorder = context.emit, context.knobs, context.recorder
    brief: Answer | None = None
    emit(BriefStarted())
    if recorder.run.pages:
        await index_and_rank(context, stream(recorder.run.ranked_pages))
        emit(SourcesChosen(_shared(recorder.run)))
        short = replace(knobs, answer=replace(knobs.answer, length=Length.SHORT))
        try:
            brief = await answer_from(replace(context, knobs=short), _best_sources(recorder.run))
        except AnswerBrokeOff as error:
            brief = error.partial
        except OpenQueryError as error:
            message = f"The answer in brief could not be written: {error.message}"
            emit(Note(Phase.ANSWER, message, error.hint, Severity.WARNING))
    run = recorder.run
    answers = [answer for answer in (brief, *(section.answer for section in run.sections)) if answer]
    whole = Answer(
        kind=answers[0].kind if answers else AnswerKind.NOT_FOUND,
        text=report(run.sections, brief.text if brief else ""),
        model=answers[0].model if answers else "",
        complete=all(answer.complete for answer in answers),
    )
    answered_and_checked(whole, run.sources, recorder)


def _run_budget(ports: Ports, run: Run) -> RunBudget:
    return RunBudget(knobs=run.knobs.run, prices=ports.prices, run=run, since=run.before)


def _shared(run: Run, further: Iterable[Source] = ()) -> tuple[Source, ...]:
    """Return the distinct sources of sections and `further`, by number."""
    numbered = {source.number: source for source in further}
    numbered |= {source.number: source for part in reversed(run.sections) for source in part.sources}
    return tuple(numbered[number] for number in sorted(numbered))


def _best_sources(run: Run) -> tuple[Source, ...]:
    """Return the best-ranked sources of the run, by number. The knobs limit their number."""
    if run.index is None or run.ranking is None:
        return ()
    order = {run.index.passages[row].id: place for place, row in enumerate(run.ranking.order.tolist())}
    best = sorted(run.sources, key=lambda source: order.get(source.passage.id, len(order)))
    return tuple(sorted(best[: run.knobs.rank.top_k], key=lambda source: source.number))
