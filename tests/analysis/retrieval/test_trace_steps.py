from __future__ import annotations

import pytest

from core.analysis.retrieval.trace import Trace, TraceOutcome, why_not
from core.analysis.retrieval.trace_steps import STEPS, StepState, trace_steps
from tests.analysis.sample import run_of


@pytest.mark.parametrize(
    "end", [end for end in TraceOutcome if end not in (TraceOutcome.NOTHING_SOUGHT, TraceOutcome.CITED)]
)
def test_every_end_but_the_best_is_at_one_step(end: TraceOutcome) -> None:
    way = trace_steps(Trace(end=end, message=""))
    assert [one.title for one in way] == list(STEPS)
    outcomes = [one.state for one in way]
    assert outcomes.count(StepState.ENDED) == 1
    assert set(outcomes[outcomes.index(StepState.ENDED) + 1 :]) <= {StepState.BEYOND}


def test_what_is_cited_passed_every_step_and_an_empty_wish_none() -> None:
    run = run_of(answer="A red boat lies on the river [1].")
    cited = trace_steps(why_not(run, "A red boat lies on the river."))
    assert {one.state for one in cited} == {StepState.PASSED}
    assert trace_steps(why_not(run, "  ")) == ()


def test_of_a_text_in_no_page_nobody_knows_whether_it_was_found() -> None:
    way = trace_steps(why_not(run_of(), "Nobody ever wrote this particular sentence about granite."))
    assert [one.state for one in way[:3]] == [StepState.UNKNOWN, StepState.UNKNOWN, StepState.ENDED]
