from __future__ import annotations

from dataclasses import replace

import pytest

from core.analysis.leave_out import leave_out
from core.knobs import Strategy
from core.run import Run
from tests.analysis.sample import TEXTS, run_of

A, B, C = TEXTS
RUN = run_of(answer="A red boat lies there [1]. Clouds and boats meet [1][2]. Clouds drift [2].", top_k=2)


def test_the_places_of_a_page_go_to_the_next_best() -> None:
    found = leave_out(RUN, A)
    assert found is not None
    assert [move.site for move in found.lost] == ["a.example"]
    assert [move.site for move in found.gained] == ["b.example"]
    assert found.without.knobs.rank.excluded == (A,)
    assert found.without.evidence is not None and RUN.evidence is not None
    assert found.without.evidence.order.tolist() == RUN.evidence.order.tolist(), "it is still ranked"
    assert found.without.answer == RUN.answer


def test_the_sentences_that_rest_on_it_are_named() -> None:
    found = leave_out(RUN, A)
    assert found is not None
    assert [RUN.text[sentence.start : sentence.end] for sentence in found.citing] == [
        "A red boat lies there [1].",
        "Clouds and boats meet [1][2].",
    ]
    assert found.only == found.citing[:1]


def test_a_page_outside_the_context_contributed_nothing() -> None:
    found = leave_out(RUN, B)
    assert found is not None
    assert (found.lost, found.gained, found.citing) == ((), (), ())
    assert found.comparison.contexts == 1


@pytest.mark.parametrize("strategy", Strategy)
def test_pages_that_were_left_out_before_stay_out(strategy: Strategy) -> None:
    first = leave_out(run_of(strategy=strategy), A)
    assert first is not None
    both = leave_out(first.without, C)
    assert both is not None
    assert both.without.knobs.rank.excluded == (A, C)
    assert both.without.index is not None and both.without.evidence is not None
    assert {both.without.index.passages[row].place.page for row in both.without.evidence.context} <= {B}


def test_without_such_a_page_or_a_ranking_there_is_nothing_to_leave_out() -> None:
    assert leave_out(Run(), A) is None
    assert leave_out(RUN, "https://other.example") is None
    assert leave_out(replace(RUN, index=None, evidence=None), A) is None
