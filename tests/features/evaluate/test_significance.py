"""Intervals and tests keep the error rates that they promise. Every random number has a seed."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.intervals import DISTRIBUTIONS
from core.features.evaluate.statistics.significance import (
    SIGNIFICANT,
    difference_interval,
    holm,
    mean_interval,
    p_text,
    randomization_test,
    smallest_p_value,
)

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize("questions", [20, 75, 300])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.98])
def test_intervals_of_shares_hold_the_true_share(questions: int, share: float) -> None:
    """Every number of ones, with its probability: the coverage is exact."""
    coverage = 0.0
    for ones in range(questions + 1):
        interval = mean_interval([1.0] * ones + [0.0] * (questions - ones))
        chance = math.comb(questions, ones) * share**ones * (1 - share) ** (questions - ones)
        coverage += chance * (interval.low <= share <= interval.high)
    assert coverage >= 0.93


@pytest.mark.parametrize("questions", [20, 75, 300])
@pytest.mark.parametrize("name", list(DISTRIBUTIONS))
def test_intervals_near_the_ceiling_hold_the_true_mean(questions: int, name: str) -> None:
    true, draw = DISTRIBUTIONS[name]
    intervals = [mean_interval(values) for values in draw(np.random.default_rng(7), (600, questions))]
    assert all(interval.low <= interval.mean <= interval.high for interval in intervals)
    assert np.mean([interval.low <= true <= interval.high for interval in intervals]) >= 0.92


@pytest.mark.parametrize(("value", "low", "high"), [(1.0, 0.951, 1.0), (0.0, 0.0, 0.049)])
def test_seventy_five_equal_values_leave_room_below_the_ceiling(
    value: float, low: float, high: float
) -> None:
    """By hand: n / (n + 1.96 squared) = 75 / 78.84."""
    interval = mean_interval([value] * 75)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-4)
    almost = mean_interval([value] * 74 + [abs(value - 0.001)])
    assert almost.high - almost.low > 0.04, "one value that differs a little makes nothing certain"


def test_figures_as_published() -> None:
    """Wilson's interval of 4 in 10, as in Brown, Cai and DasGupta (2001) and in every textbook: .168 to .687."""
    interval = mean_interval([1.0] * 4 + [0.0] * 6)
    assert (interval.low, interval.high) == pytest.approx((0.1682, 0.6873), abs=5e-5)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=10))
def test_interval_leaves_out_zero_where_the_test_rejects(values: list[int]) -> None:
    interval = difference_interval([0] * len(values), values)
    rejected = randomization_test([0] * len(values), values) <= SIGNIFICANT
    assert (interval.low > 0 or interval.high < 0) == rejected


def test_intervals_of_differences_hold_the_true_difference() -> None:
    held = []
    for values in RANDOM.normal(0.03, 0.2, size=(300, 40)):
        interval = difference_interval(np.zeros(40), values)
        held.append(interval.low <= 0.03 <= interval.high)
    assert np.mean(held) >= 0.92


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "p = 1"),
        (0.0123, "p = .0123"),
        (0.0001, "p = .0001"),
        (0.00005, "p < .0001"),
        (0.0, "p < .0001"),
    ],
)
def test_no_p_value_is_printed_as_zero(value: float, text: str) -> None:
    assert p_text(value) == text


def test_chance_differences_are_significant_once_in_twenty() -> None:
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


@pytest.mark.parametrize("questions", [1, 5, 6, 14, 15])
def test_smallest_p_value_needs_differences_of_one_sign(questions: int) -> None:
    smallest = smallest_p_value(questions)
    assert randomization_test([1.0] * questions, [0.0] * questions) >= smallest
    assert (smallest > SIGNIFICANT) == (questions < 6)
    assert smallest_p_value(questions, comparisons=3) == min(1, 3 * smallest)


def test_holm_adjusts_step_by_step() -> None:
    """By hand: .01 x 4, .02 x 3, .03 x 2, and .04 no lower than the one before it."""
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == (1, 1)
    assert holm([]) == ()


def test_what_is_no_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="one value a question"):
        mean_interval([])
    with pytest.raises(ValueError, match="not a finite number"):
        mean_interval([0.5, float("nan")])
    with pytest.raises(ValueError, match="not from 0 to 1"):
        mean_interval([0.5, 512.0])
    with pytest.raises(ValueError, match="2 and 1 values are no pairs"):
        randomization_test([0.5, 0.6], [0.5])
