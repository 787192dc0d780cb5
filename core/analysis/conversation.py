"""A conversation as its turns: which runs it is made of, what each was answered from, what it took."""

from collections.abc import Sequence

from core.model import AnswerFrom, Turn
from core.run.state import Run
from core.storage.run_summaries import RunSummary
from core.text.display import decimal
from core.text.sanitize import pluralize


def thread(turns: Sequence[RunSummary], run_id: str) -> tuple[RunSummary, ...]:
    """The turns before a run, the run, and those that follow it, oldest first; of two that follow one, the newer. Empty
    where the run is not among the `turns` of its conversation, which are in any order."""
    by_id = {turn.id: turn for turn in turns}
    followers: dict[str, RunSummary] = {}
    for turn in sorted(turns, key=lambda turn: turn.started):
        followers[turn.follows] = turn
    chain: list[RunSummary] = []
    earlier = by_id.get(run_id)
    while earlier is not None and earlier not in chain:
        chain.insert(0, earlier)
        earlier = by_id.get(earlier.follows)
    while chain and (later := followers.get(chain[-1].id)) and later not in chain:
        chain.append(later)
    return tuple(chain)


def latest_turns(runs: Sequence[RunSummary]) -> tuple[RunSummary, ...]:
    """The newest of the runs of each conversation. `runs` are newest first, as the history lists them."""
    newest: dict[str, RunSummary] = {}
    for run in runs:
        newest.setdefault(run.conversation, run)
    return tuple(newest.values())


def answered_from(run: Run) -> str:
    """What a run was answered from, in a few words, with the coverage that was measured before it."""
    if run.turn:
        return _decision(run.turn)
    return f"searched, {pluralize(run.full_pages, 'page')}" if run.hits else "searched"


def _decision(turn: Turn) -> str:
    coverage = turn.coverage
    match turn.answer_from:
        case AnswerFrom.PAGES:
            words = "from the pages in hand"
        case AnswerFrom.SEARCH:
            words = "searched again"
        case AnswerFrom.BOTH:
            words = "from the pages in hand and new ones"
    return words if coverage is None else f"{words}, coverage {decimal(coverage, 2)}"


def understood(question: str, turn: Turn | None) -> str:
    """How a follow-up was understood and what it is answered from, in a sentence; empty for a first question."""
    return f"Understood as “{question}”: {_decision(turn)}." if turn else ""
