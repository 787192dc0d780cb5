"""A follow-up question before it is asked: what it means, and whether the pages in hand suffice for it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.config.knobs import Knobs, Origin
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
    """A follow-up as it would be asked: `pipeline.research(draft.question, ..., turn=draft.turn)`."""

    question: str
    """It stands alone."""
    turn: Turn
    """Where the pages in hand suffice, the question is answered from them, else from new ones too."""
    coverage: Coverage | None = None
    """Of the question by the passages in hand; None: there are none, or the question is another one."""

    def changed(
        self, *, question: str = "", answer_from: AnswerFrom | None = None, queries: Sequence[str] = ()
    ) -> "FollowUpDraft":
        """The draft as the person changed it. No model has written their question, and its coverage is unknown.

        Queries of theirs are searched also where the pages in hand would suffice.
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
    """Rewrite a follow-up into a question that stands alone, and measure how far the pages in hand cover it.

    Args:
        written: the follow-up as the person wrote it.
        earlier: the run that it follows, which has ended.
        get: loads the runs before that one, which are its history.
        ports: made with `earlier`.
        emit: called with what the models took, and with notes, which are also those of the turn.
        knobs: of the run to come; None: those of `earlier`. Where they search other collections, or the web in place of
            them, the pages in hand do not answer.

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
    """As `draft_follow_up`, after exchanges of which no run may be here.

    Args:
        history: the exchanges, oldest first.
        written, ports, emit, knobs: as there.
        earlier: the run of the latest exchange; None: it was asked elsewhere, so no page is in hand.
        older: how many exchanges come before `history`.
        budget: of the run to come, a part of which the rewrite may take.
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


def _range(knobs: Knobs) -> tuple[Origin, tuple[str, ...]]:
    return knobs.search.origin, knobs.search.collections
