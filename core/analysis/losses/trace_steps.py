"""The fate of a pasted sentence or address as steps of a way, with the one at which it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.analysis.losses.trace import End, Trace

STEPS = ("found by a query", "page read", "in the article", "whole in a passage", "in the context", "cited")


class Outcome(StrEnum):
    PASSED = "passed"
    ENDED = "ended"
    BEYOND = "beyond"
    """Not reached, since it ended before."""
    UNKNOWN = "unknown"
    """Nobody can say, since it stands in no page that was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestone:
    title: str
    outcome: Outcome


_ENDS_AT = {
    End.NEVER_A_HIT: 0,
    End.BEYOND_THE_LIMIT: 0,
    End.NOT_READ_YET: 1,
    End.SKIPPED: 1,
    End.NOT_IN_ANY_PAGE: 2,
    End.NOT_EXTRACTED: 2,
    End.NOT_RANKED: 3,
    End.SPLIT: 3,
    End.LEFT_OUT: 4,
    End.NOT_CITED: 5,
    End.CITED: len(STEPS),
}


def milestones(fate: Trace) -> tuple[Milestone, ...]:
    """The steps from a search result to a citation, with what became of it at each; none when nothing was sought."""
    if fate.end is End.NOTHING_SOUGHT:
        return ()
    last = _ENDS_AT[fate.end]
    before = Outcome.UNKNOWN if fate.end is End.NOT_IN_ANY_PAGE else Outcome.PASSED
    return tuple(
        Milestone(
            title=title,
            outcome=before if place < last else Outcome.ENDED if place == last else Outcome.BEYOND,
        )
        for place, title in enumerate(STEPS)
    )
