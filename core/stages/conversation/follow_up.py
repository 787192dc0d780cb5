"""Prepare a follow-up question: its meaning, and whether known pages suffice for it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.config.knobs import Knobs, SearchScope
from core.model import AnswerFrom, Exchange, ModelUsage, Phase, Turn
from core.ports import Ports
from core.run.conversation import GetRun, exchanges, next_turn, recent_turns, turn_number
from core.run.events import Emit, Event, ModelUsed, Note
from core.run.state import Run
from core.stages.conversation.coverage import Coverage, embedded_coverage
from core.stages.conversation.history import recent
from core.stages.conversation.standalone_question import HISTORY_TOKENS, standalone_question
from core.stages.egress import admitted_history
from core.stages.time_budget import UNLIMITED, TimeBudget
from core.text.sanitize import CHARACTERS_A_TOKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUpDraft:
    """A follow-up ready to be asked: `pipeline.research(draft.question, ..., turn=draft.turn)`."""

    question: str
    """The standalone question."""
    turn: Turn
    """The turn of the run. It says whether the question is answered from known pages only."""
    coverage: Coverage | None = None
    """The question's coverage by known pages. None if no page is known or a person changed the question."""

    def changed(
        self, *, question: str = "", answer_from: AnswerFrom | None = None, queries: Sequence[str] = ()
    ) -> "FollowUpDraft":
        """Return the draft with a person's changes. A changed question has no author and its coverage is unknown.

        If the person gives queries, they are searched even if known pages would suffice.
        """
        chosen = answer_from or self.turn.answer_from
        if queries and chosen is AnswerFrom.PAGES:
            chosen = AnswerFrom.BOTH
        turn = replace(self.turn, answer_from=chosen)
        if question in ("", self.question):
            return replace(self, turn=turn)
        return FollowUpDraft(question=question, turn=replace(turn, author="", coverage=None))


async def draft_follow_up(
    written: str, earlier: Run, get: GetRun, ports: Ports, emit: Emit, *, knobs: Knobs | None = None
) -> FollowUpDraft:
    """Rewrite a follow-up as a standalone question.

    Also measures how well the known pages cover it.

    Args:
        written: the follow-up as the person wrote it.
        earlier: the previous run, which has ended.
        get: loads the runs before `earlier`, for the history.
        ports: the ports made with `earlier`.
        emit: called with the models' usage and with notes, which also become the turn's.
        knobs: the knobs of the next run. None: the knobs of `earlier`. If they change the searched collections or switch
            between the web and collections, the question is not answered from known pages.

    Raises:
        BadInput: when the follow-up is empty or too long, or the egress policy refuses the history.
    """
    turns = await asyncio.to_thread(recent_turns, earlier, get, HISTORY_TOKENS * CHARACTERS_A_TOKEN)
    older = turn_number(turns[0]) - 1
    return await draft_after(
        exchanges(turns), written, ports, emit, earlier=earlier, older=older, knobs=knobs
    )


async def draft_after(
    history: Sequence[Exchange],
    written: str,
    ports: Ports,
    emit: Emit,
    *,
    earlier: Run | None = None,
    older: int = 0,
    knobs: Knobs | None = None,
    budget: TimeBudget = UNLIMITED,
) -> FollowUpDraft:
    """Rewrite a follow-up after exchanges without stored runs.

    Args:
        history: the exchanges, oldest first.
        written, ports, emit, knobs: the arguments of `draft_follow_up`.
        earlier: the run of the latest exchange. None: it was asked elsewhere, so no page is known.
        older: the number of exchanges before `history`.
        budget: the time of the next run. The rewrite may take a part of it.
    """
    turn_notes: list[str] = []
    usage: list[ModelUsage] = []

    def collect(event: Event) -> None:
        match event:
            case Note(message=message, hint=hint):
                turn_notes.append(f"{message} {hint}".rstrip())
            case ModelUsed(usage=used):
                usage.append(used)
        emit(event)

    admitted = admitted_history(history, ports.chat, ports, emit)
    standalone = await standalone_question(written, admitted, ports.chat, collect, older=older, budget=budget)
    if standalone.note:
        collect(Note(Phase.PLAN, standalone.note))
    measured, answer_from = None, AnswerFrom.SEARCH
    if earlier and earlier.index:
        measured = await embedded_coverage(
            standalone.text, earlier.index, ports.embedder_of(earlier.index), collect
        )
        if knobs is None or _range(knobs) == _range(earlier.knobs):
            answer_from = AnswerFrom.PAGES if measured.enough else AnswerFrom.BOTH
        if measured.note:
            collect(Note(Phase.PLAN, measured.note))
    turn = next_turn(
        earlier,
        written=written,
        answer_from=answer_from,
        author=standalone.author,
        coverage=measured.value if measured else None,
        history=recent(history, HISTORY_TOKENS),
        notes=turn_notes,
        usage=usage,
        seconds=standalone.seconds,
    )
    return FollowUpDraft(question=standalone.text, turn=turn, coverage=measured)


def _range(knobs: Knobs) -> tuple[SearchScope, tuple[str, ...]]:
    return knobs.search.origin, knobs.search.collections
