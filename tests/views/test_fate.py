from __future__ import annotations

import pytest

from core.analysis.losses.trace import End, Trace, why_not
from core.analysis.losses.trace_steps import STEPS, Outcome, milestones
from tests.analysis.sample import run_of


@pytest.mark.parametrize("end", [end for end in End if end not in (End.NOTHING_SOUGHT, End.CITED)])
def test_every_end_but_the_best_is_at_one_step(end: End) -> None:
    way = milestones(Trace(end=end, message=""))
    assert [one.title for one in way] == list(STEPS)
    outcomes = [one.outcome for one in way]
    assert outcomes.count(Outcome.ENDED) == 1
    assert set(outcomes[outcomes.index(Outcome.ENDED) + 1 :]) <= {Outcome.BEYOND}


def test_what_is_cited_passed_every_step_and_an_empty_wish_none() -> None:
    run = run_of(answer="A red boat lies on the river [1].")
    cited = milestones(why_not(run, "A red boat lies on the river."))
    assert {one.outcome for one in cited} == {Outcome.PASSED}
    assert milestones(why_not(run, "  ")) == ()


def test_of_a_text_in_no_page_nobody_knows_whether_it_was_found() -> None:
    way = milestones(why_not(run_of(), "Nobody ever wrote this particular sentence about granite."))
    assert [one.outcome for one in way[:3]] == [Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.ENDED]
