"""Intervals and tests keep the error rates that they promise. Every random number has a seed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evaluation.significance import bootstrap_interval, holm, randomization_test

RANDOM = np.random.default_rng(7)


def test_nineteen_of_twenty_intervals_hold_the_mean() -> None:
    """The nominal share is .95; the bounds are four standard errors of 400 trials."""
    trials = 400
    held = 0
    for values in RANDOM.beta(0.6, 0.4, size=(trials, 80)):  # most questions near 0 or 1, as nDCG's are
        interval = bootstrap_interval(values, resamples=500)
        assert interval.low <= interval.mean <= interval.high
        held += interval.low <= 0.6 <= interval.high
    assert 0.9 < held / trials < 0.99


def test_two_settings_that_differ_by_chance_are_told_apart_in_one_test_of_twenty() -> None:
    trials = 400
    p_values = [randomization_test(*pair, permutations=400) for pair in RANDOM.uniform(size=(trials, 2, 60))]
    rejected = np.mean(np.array(p_values) <= 0.05)
    assert 0.01 < rejected < 0.1


def test_a_planted_loss_of_five_points_is_found() -> None:
    before = RANDOM.uniform(0.3, 1, size=200)
    after = before - 0.05 + RANDOM.normal(0, 0.05, size=200)
    assert randomization_test(before, after) < 0.001


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8))
def test_few_questions_are_tested_exactly(differences: list[int]) -> None:
    """Against counting every swap by hand."""
    observed = abs(sum(differences))
    swaps = [
        sum(sign * one for sign, one in zip(signs, differences, strict=True))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    expected = sum(abs(total) >= observed for total in swaps) / len(swaps)
    assert randomization_test(differences, [0] * len(differences)) == pytest.approx(expected)


def test_equal_settings_have_a_p_value_of_one() -> None:
    assert randomization_test([0.5, 0.7], [0.5, 0.7]) == 1


def test_holm_adjusts_step_by_step() -> None:
    """By hand: .01 x 4, .02 x 3, .03 x 2, and .04 no lower than the one before it."""
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == (1, 1)
    assert holm([]) == ()


def test_what_is_no_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="one value a question"):
        bootstrap_interval([])
    with pytest.raises(ValueError, match="not a finite number"):
        bootstrap_interval([0.5, float("nan")])
    with pytest.raises(ValueError, match="2 and 1 values are no pairs"):
        randomization_test([0.5, 0.6], [0.5])
