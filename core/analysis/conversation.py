"""A conversation as its turns: runs, the basis of each answer, and the cost of the next turn."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.analysis.run_usage import RunUsage, run_usage
from core.config.prices import Prices
from core.model import AnswerFrom, Phase, Turn
from core.run.run_summary import RunSummary
from core.run.state import Run
from core.run.timeline import Span
from core.text.display import decimal
from core.text.sanitize import pluralize

_OF_PAGES_IN_HAND = frozenset({Phase.RANK, Phase.ANSWER})
"""The phases of a turn whose pages are known."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCost:
    """Seconds and model usage of a turn."""

    seconds: float
    usage: RunUsage


def turn_cost(run: Run, prices: Prices, *, searched: bool) -> TurnCost | None:
    """Return what a turn took: all of it, or without the search only its ranking and answer.

    The next turn takes about as much. None if the run did not answer, or did not search and `searched` is asked for.
    """
    spans = run.timeline.phases
    needed = Phase.SEARCH if searched else Phase.RANK
    if not run.text or any(
        phase not in spans or spans[phase].end is None for phase in (needed, Phase.ANSWER)
    ):
        return None
    phases = spans.keys() if searched else _OF_PAGES_IN_HAND
    return TurnCost(
        seconds=_covered(span for phase, span in spans.items() if phase in phases),
        usage=run_usage([call for call in run.model_usage if call.phase in phases], prices),
    )


def _covered(spans: Iterable[Span]) -> float:
    """Return the seconds within at least one span. Spans without an end do not count."""
    total = reached = 0.0
    for start, end in sorted((span.start, span.end) for span in spans if span.end is not None):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def understood(question: str, turn: Turn | None) -> str:
    """Return how a follow-up was understood, in a sentence, or "" for a first question."""
    return f"Understood as “{question}”: {_decision(turn)}." if turn else ""
