import pytest

from core.analysis.retrieval.trace import STEPS, StepState, Trace, TraceOutcome, absence_from_answer
from tests.analysis.sample import run_of


@pytest.mark.parametrize(
    "outcome",
    [outcome for outcome in TraceOutcome if outcome not in (TraceOutcome.EMPTY_QUERY, TraceOutcome.CITED)],
)
def test_every_end_but_the_best_is_at_one_step(outcome: TraceOutcome) -> None:
    titles, states = zip(*Trace(outcome=outcome, message="").steps, strict=True)
    assert titles == STEPS
    assert states.count(StepState.ENDED) == 1
    assert set(states[states.index(StepState.ENDED) + 1 :]) <= {StepState.NOT_REACHED}


def test_cited_text_passed_every_step_and_empty_query_none() -> None:
    run = run_of(answer="A red boat lies on the river [1].")
    cited = absence_from_answer(run, "A red boat lies on the river.").steps
    assert {state for _, state in cited} == {StepState.PASSED}
    assert absence_from_answer(run, "  ").steps == ()


def test_text_on_no_page_may_or_may_not_be_found() -> None:
    steps = absence_from_answer(run_of(), "Nobody ever wrote this particular sentence about granite.").steps
    assert [state for _, state in steps[:3]] == [StepState.UNKNOWN, StepState.UNKNOWN, StepState.ENDED]
