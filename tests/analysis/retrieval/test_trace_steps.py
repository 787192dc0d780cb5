import pytest

from core.analysis.retrieval.trace import Trace, TraceOutcome, why_not
from core.analysis.retrieval.trace_steps import TITLES, StepState, trace_steps
from tests.analysis.sample import run_of


@pytest.mark.parametrize(
    "outcome",
    [outcome for outcome in TraceOutcome if outcome not in (TraceOutcome.EMPTY_QUERY, TraceOutcome.CITED)],
)
def test_every_end_but_the_best_is_at_one_step(outcome: TraceOutcome) -> None:
    steps = trace_steps(Trace(outcome=outcome, message=""))
    assert [step.title for step in steps] == list(TITLES)
    states = [step.state for step in steps]
    assert states.count(StepState.ENDED) == 1
    assert set(states[states.index(StepState.ENDED) + 1 :]) <= {StepState.NOT_REACHED}


def test_what_is_cited_passed_every_step_and_an_empty_query_none() -> None:
    run = run_of(answer="A red boat lies on the river [1].")
    cited = trace_steps(why_not(run, "A red boat lies on the river."))
    assert {step.state for step in cited} == {StepState.PASSED}
    assert trace_steps(why_not(run, "  ")) == ()


def test_of_a_text_in_no_page_nobody_knows_whether_it_was_found() -> None:
    steps = trace_steps(why_not(run_of(), "Nobody ever wrote this particular sentence about granite."))
    assert [one.state for one in steps[:3]] == [StepState.UNKNOWN, StepState.UNKNOWN, StepState.ENDED]
