"""Rank and answer with the partial results of a stopped run."""

import asyncio

from core.model import Answer, AnswerKind, Phase, Severity
from core.ports import Chat
from core.run.events import Emit, Note, PhaseEnded, PhaseStarted, Ranked
from core.run.state import Run
from core.stages.rank import rank

NOT_RERANKED = "The run was stopped before the passages were reranked."


async def rank_so_far(run: Run, emit: Emit) -> None:
    """Rank an index that has no ranking yet. The reranker is not used because the run may have waited for it."""
    if run.index is None or run.ranking is not None:
        return
    emit(PhaseStarted(Phase.RANK))
    if run.knobs.rank.rerank:
        emit(Note(Phase.RANK, NOT_RERANKED, severity=Severity.WARNING))
    emit(Ranked(await asyncio.to_thread(rank, run.question, run.index, run.knobs.rank, run.pages)))
    emit(PhaseEnded(Phase.RANK))


def written_so_far(run: Run, chat: Chat | None) -> Answer | None:
    """Return the answer so far, or None without a word."""
    if not run.text.strip():
        return None
    if run.prompt and chat:
        return Answer(kind=AnswerKind.WRITTEN, text=run.text, model=chat.identity, complete=False)
    return Answer(kind=AnswerKind.EXTRACTIVE, text=run.text, complete=False)
