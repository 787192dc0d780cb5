"""Statistical certainty of figures: intervals, a paired randomization test, Holm's correction.

All arrays have one value of one metric per question, float64 of shape (questions,). Results depend on the arguments
alone, because random numbers have a fixed seed. The latest tests are cached, since a page repeats them at every redraw.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

CONFIDENCE = 0.95
SIGNIFICANT = 0.05
"""The highest p-value of a significant difference."""
PERMUTATIONS = 20_000
SUBSETS = 5_000
EXACT = 14
"""The most differing questions whose 2 ** n sign patterns are all counted instead of sampled."""
PRIOR = 0.25
"""Added to the variance of the values, and to the variance of shares with the same mean, each summed over questions.

Without it, twenty values of which a single value differs a little from 1 would have an interval of almost no width.
"""

_TOGETHER = 250
_NOISE = 1e-12
"""Rounding error between sums of the same numbers in another order."""
_SMALLEST_P = 0.0001


class Verdict(StrEnum):
    """The outcome of comparing a setting or ranking with another."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"
    NO_DIFFERENCE = "no difference shown"
    TOO_FEW = "too few questions to show a difference"
    """With any values."""
    OPEN = "open"
    """More labels are needed."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the bounds of its confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def mean_interval(values: ArrayLike) -> Interval:
    """Return the mean of a metric from 0 to 1, with Wilson's score interval.

    For shares, whose values are all 0 or 1, it is the interval of Wilson (1927), which Brown, Cai and DasGupta (2001)
    recommend. Other values vary less than shares of the same mean: the number of questions is divided by the ratio of
    the two variances, which gives the effective sample size (Korn and Graubard 1998; with Wilson's interval: Franco,
    Little, Louis and Slud 2019). `PRIOR` stabilises the ratio if there is almost no variation. The interval never has
    the width 0. `bench/intervals.py` measures its coverage.

    Raises:
        ValueError: when there is no value, or one that is not from 0 to 1.
    """
    array = _finite(values)
    if array.min() < 0 or array.max() > 1 + _NOISE:
        raise ValueError("a value is not from 0 to 1")
    count, mean = len(array), min(float(array.mean()), 1.0)
    of_shares = count * mean * (1 - mean)
    ratio = min((count * float(array.var()) + PRIOR) / (of_shares + PRIOR), 1.0)
    return Interval(mean, *_wilson(mean, count / ratio))


def _wilson(share: float, count: float) -> tuple[float, float]:
    quantile = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    shrunk = 1 + quantile**2 / count
    centre = (share + quantile**2 / (2 * count)) / shrunk
    half = quantile / shrunk * math.sqrt(share * (1 - share) / count + (quantile / (2 * count)) ** 2)
    # Rounding must not put a bound beyond the share itself, if the share is 0 or 1.
    return max(min(centre - half, share), 0.0), min(max(centre + half, share), 1.0)


def difference_interval(first: ArrayLike, second: ArrayLike) -> Interval:
    """Return the mean of second minus first, with its interval by `difference_intervals`.

    Raises:
        ValueError: when the lengths differ, or a value is missing or not finite.
    """
    before, after = _pairs(first, second)
    return _difference_interval((after - before).tobytes())


@lru_cache(maxsize=1000)
def _difference_interval(values: bytes) -> Interval:
    return difference_intervals(np.frombuffer(values)[np.newaxis])[0]


def difference_intervals(differences: NDArray[np.float64]) -> tuple[Interval, ...]:
    """Return the mean difference of each setting to a baseline, with its interval.

    The interval has the differences that `randomization_tests` does not reject. It lies between two quantiles of the
    means of random subsets of the questions (Hartigan 1969, "Using subsample values as typical values").

    With too few questions for `CONFIDENCE`, the bounds are -1 and 1, which suit metrics from 0 to 1. `differences` are
    setting minus baseline, shape (settings, questions).
    """
    intervals: list[Interval] = []
    for start in range(0, len(differences), _TOGETHER):  # all at once they would not fit into memory
        some = differences[start : start + _TOGETHER]
        means = np.concatenate([_subset_means(subsets, some.T) for subsets in _subsets(some.shape[1])])
        # The empty subset is on either side.
        outside = math.floor((1 - CONFIDENCE) / 2 * (len(means) + 1) + _NOISE) - 1
        bounds = np.tile([-1.0, 1.0], (len(some), 1))
        if outside >= 0:
            places = [outside, len(means) - 1 - outside]
            bounds = np.partition(means, places, axis=0)[places].T
        intervals += [
            Interval(float(mean), float(low), float(high))
            for mean, (low, high) in zip(some.mean(axis=1), bounds, strict=True)
        ]
    return tuple(intervals)


def _subset_means(subsets: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means of each subset that is not empty, shape (subsets, settings)."""
    sizes = subsets.sum(axis=1)
    means: NDArray[np.float64] = (subsets @ values)[sizes > 0] / sizes[sizes > 0, np.newaxis]
    return means


def _subsets(questions: int) -> Iterator[NDArray[np.float64]]:
    """Yield subsets of questions, shape (subsets, questions).

    Few questions have all subsets, many have random subsets.
    """
    if questions <= EXACT:
        yield np.array(list(itertools.product((0.0, 1.0), repeat=questions)))
        return
    random = np.random.default_rng(0)
    for _ in range(0, SUBSETS, _TOGETHER):
        yield random.integers(0, 2, size=(_TOGETHER, questions), dtype=np.int8).astype(np.float64)


def p_number(value: float) -> str:
    """Return a p-value as text: `.0123`, `< .0001` because no p-value is 0, or `1`."""
    if value < _SMALLEST_P:
        return f"< {_SMALLEST_P:.4f}".replace("0.", ".", 1)
    return f"{value:.4f}".removeprefix("0") if value < 1 - _SMALLEST_P / 2 else "1"


def p_text(value: float) -> str:
    """Return `p = .0123` or `p < .0001`."""
    number = p_number(value)
    return f"p {number}" if number.startswith("<") else f"p = {number}"


def randomization_test(first: ArrayLike, second: ArrayLike, *, permutations: int = PERMUTATIONS) -> float:
    """Return the p-value of the difference between second and first, by `randomization_tests`.

    Raises:
        ValueError: when the lengths differ, there is no value, or one that is not finite.
    """
    before, after = _pairs(first, second)
    return _randomization_test((after - before).tobytes(), permutations)


@lru_cache(maxsize=1000)
def _randomization_test(values: bytes, permutations: int) -> float:
    return float(randomization_tests(np.frombuffer(values)[np.newaxis], permutations)[0])


def randomization_tests(
    differences: NDArray[np.float64], permutations: int = PERMUTATIONS
) -> NDArray[np.float64]:
    """Return the two-sided p-value of each setting's mean difference to a baseline.

    Under the null hypothesis each question's two values could be swapped (Smucker, Allan and Carterette 2007). Up to
    `EXACT` differing questions, all swaps are counted. Above, `permutations` random swaps are the same for all
    settings, and the p-value is (b + 1) / (m + 1), which is never 0 (Phipson and Smyth 2010). `differences` are setting
    minus baseline over the same questions, shape (settings, questions). The p-values have the shape (settings,).
    """
    observed = np.abs(differences.sum(axis=1)) - _NOISE
    p_values = np.ones(len(differences))
    many = np.count_nonzero(differences, axis=1) > EXACT
    for place in np.flatnonzero(~many):
        own = differences[place][differences[place] != 0]
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(own))))
        p_values[place] = np.mean(np.abs(signs @ own) >= observed[place])
    if many.any():
        tested, reached = np.ascontiguousarray(differences[many].T), np.zeros(int(many.sum()))
        random = np.random.default_rng(0)
        for start in range(0, permutations, _TOGETHER):  # all at once they would not fit into memory
            some = min(_TOGETHER, permutations - start)
            flips = random.integers(0, 2, size=(some, len(tested)), dtype=np.int8).astype(np.float64)
            sums = tested.sum(axis=0) - 2 * (flips @ tested)
            reached += np.count_nonzero(np.abs(sums) >= observed[many], axis=0)
        p_values[many] = (reached + 1) / (permutations + 1)
    return p_values


def smallest_p_value(questions: int, comparisons: int = 1) -> float:
    """Return the smallest possible p-value for this number of questions and comparisons.

    It is reached if all differences have the same sign. `holm` corrects for the comparisons.
    """
    alone = 2.0 ** (1 - questions) if questions <= EXACT else 1 / (PERMUTATIONS + 1)
    return min(1.0, comparisons * alone)


def least_questions(comparisons: int = 1) -> int:
    """Return the fewest questions that can show a difference of any size in `comparisons` tests.

    With fewer, not even differences of the same sign in every question reach `SIGNIFICANT`, and an interval is from -1
    to 1.
    """
    return next(count for count in itertools.count(1) if smallest_p_value(count, comparisons) <= SIGNIFICANT)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values adjusted for testing all of them at once, in the given order (Holm 1979).

    Rejecting p-values at or below a level keeps the chance of any false rejection at or below it.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return tuple(adjusted)


def _pairs(first: ArrayLike, second: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    before, after = _finite(first), _finite(second)
    if len(before) != len(after):
        raise ValueError(f"{len(before)} and {len(after)} values are no pairs")
    return before, after


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"one value a question is needed, got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("a value is not a finite number: leave out the questions without one")
    return array
