"""How many questions a comparison by labels needs: what is said before one begins is what simulated ones come to."""

import math

import numpy as np
import pytest

from core.features.evaluate.labels.comparison_power import (
    chance,
    difference_shown,
    expected_spread,
    questions_needed,
    rounded_up,
)
from core.features.evaluate.labels.label_samples import Sample, sample
from core.features.evaluate.statistics.sequential_test import p_value

SPREAD = 0.45


def verdicts(questions: int, difference: float, trials: int = 400) -> float:
    """The share of simulated comparisons that come to a verdict at some question."""
    dice = np.random.default_rng(questions)
    decided = 0
    for estimates in dice.normal(difference, SPREAD, (trials, questions)):
        sums, squares = np.cumsum(estimates), np.cumsum(estimates**2) + 1
        p_values = np.exp(np.log(squares) / 2 - sums**2 / (2 * squares))
        assert p_values[-1] == pytest.approx(p_value(list(estimates))) or p_values[-1] > 1
        decided += bool(p_values.min() <= 0.05)
    return decided / trials


@pytest.mark.parametrize("difference", [0.4, 0.2, 0.1])
def test_planned_questions_decide_four_of_five_comparisons(difference: float) -> None:
    needed = questions_needed(difference, SPREAD)
    assert 0.76 < verdicts(needed, difference) < 0.97
    assert verdicts(needed // 3, difference) < 0.6
    assert chance(needed - 1, difference, SPREAD) < 0.8 <= chance(needed, difference, SPREAD)


def test_thirty_questions_are_said_not_to_show_six_points() -> None:
    assert verdicts(30, 0.06) < 0.03
    assert difference_shown(30, SPREAD) > 0.3
    assert questions_needed(0.06, SPREAD) > 500


def test_the_smallest_difference_shown_and_the_questions_needed_agree() -> None:
    smallest = difference_shown(100, SPREAD)
    assert questions_needed(smallest, SPREAD) == 100
    assert difference_shown(0, SPREAD) == difference_shown(1, SPREAD) == math.inf


def test_fourteen_questions_show_a_large_difference_and_eleven_none() -> None:
    smallest = difference_shown(14, SPREAD)
    assert 0.5 < smallest < 1.5
    assert verdicts(14, smallest) > 0.76
    assert difference_shown(11, SPREAD) == math.inf


def random_samples(count: int) -> list[Sample]:
    dice = np.random.default_rng(3)
    ids = [f"{number:02}" for number in range(14)]
    return [
        sample(
            f"question {number}", ids, [ids[row] for row in np.argsort(np.arange(14) + dice.normal(0, 3, 14))]
        )
        for number in range(count)
    ]


def test_spread_is_expected_from_samples_and_updated_by_labels() -> None:
    samples, dice = random_samples(800), np.random.default_rng(4)
    grades = {
        drawn.question: {passage: 2 * int(dice.random() < 0.1) for passage in drawn.factors}
        for drawn in samples
    }
    real = float(np.std([drawn.estimate(grades[drawn.question]) for drawn in samples]))
    assert expected_spread(samples, grades) == pytest.approx(real, rel=0.1)
    assert expected_spread(samples, {}) > 1.2 * real, "one in four is relevant where nobody knows"


def test_numbers_of_questions_are_said_in_two_digits() -> None:
    assert [rounded_up(number) for number in (7, 91, 350, 1015)] == [7, 91, 350, 1100]
