"""A conversation as its turns: their runs, and the basis of each answer."""

from collections.abc import Sequence

from core.model import AnswerFrom, Turn
from core.run.state import Run
from core.storage.run_summaries import RunSummary
from core.text.display import decimal
from core.text.sanitize import pluralize


def thread(turns: Sequence[RunSummary], run_id: str) -> tuple[RunSummary, ...]:
    """Return the turns before and after a run, with the run, oldest first.

    If two turns follow the same turn, the newer is taken. `turns` are those of the conversation, in any order. Empty if
    the run is not among them.
    """
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
    """Return the newest run of each conversation. `runs` are newest first, like in the history."""
    newest: dict[str, RunSummary] = {}
    for run in runs:
        newest.setdefault(run.conversation, run)
    return tuple(newest.values())


def answered_from(run: Run) -> str:
    """Return the basis of a run's answer in a few words, with the coverage measured before it."""
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
    """Return how a follow-up was understood, in a sentence, or "" for a first question."""
    return f"Understood as “{question}”: {_decision(turn)}." if turn else ""
