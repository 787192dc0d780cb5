"""A trace as the steps from search result to citation, for a progress display."""

from dataclasses import dataclass
from enum import StrEnum

from core.analysis.retrieval.trace import Trace, TraceOutcome

TITLES = ("found by a query", "page read", "in the article", "in one passage", "in the context", "cited")


class StepState(StrEnum):
    """How far a trace got at one step."""

    PASSED = "passed"
    ENDED = "ended"
    NOT_REACHED = "not reached"
    UNKNOWN = "unknown"
    """No page that was read contains the text, so it cannot be known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One step on the way from a query to a citation."""

    title: str
    state: StepState


_FAILED_STEP = {
    TraceOutcome.NEVER_A_HIT: 0,
    TraceOutcome.BEYOND_THE_LIMIT: 0,
    TraceOutcome.NOT_READ_YET: 1,
    TraceOutcome.SKIPPED: 1,
    TraceOutcome.NOT_IN_ANY_PAGE: 2,
    TraceOutcome.NOT_EXTRACTED: 2,
    TraceOutcome.NOT_RANKED: 3,
    TraceOutcome.SPLIT: 3,
    TraceOutcome.LEFT_OUT: 4,
    TraceOutcome.NOT_CITED: 5,
    TraceOutcome.CITED: len(TITLES),
}


def trace_steps(trace: Trace) -> tuple[TraceStep, ...]:
    """The steps from search result to citation, each with its state; none for an empty query."""
    if trace.outcome is TraceOutcome.EMPTY_QUERY:
        return ()
    failed = _FAILED_STEP[trace.outcome]
    before = StepState.UNKNOWN if trace.outcome is TraceOutcome.NOT_IN_ANY_PAGE else StepState.PASSED
    return tuple(
        TraceStep(
            title=title,
            state=before
            if number < failed
            else StepState.ENDED
            if number == failed
            else StepState.NOT_REACHED,
        )
        for number, title in enumerate(TITLES)
    )
