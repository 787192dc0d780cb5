"""How certain a figure is: bootstrap intervals, a paired randomization test, and Holm's correction.

All arrays are of one metric, one value a question, float64 of shape (questions,). Results depend on the arguments
alone: random numbers come from `seed`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

CONFIDENCE = 0.95
SIGNIFICANT = 0.05
"""A difference with a p-value above this is not called one."""
RESAMPLES = 2000
PERMUTATIONS = 20_000
EXACT = 14
"""Up to so many questions that differ, all 2 ** n sign patterns are counted instead of a sample of them."""

_TOGETHER = 1000
_NOISE = 1e-12
"""Sums of the same numbers in another order differ by less."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the bounds of its confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap_interval(
    values: ArrayLike, *, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """The mean over questions and its percentile bootstrap interval (Efron and Tibshirani 1993, chapter 13).

    Raises:
        ValueError: when there is no value, or one that is not finite.
    """
    array = _finite(values)
    random = np.random.default_rng(seed)
    # How often each question is drawn: a matrix product then has all means at once.
    counts = random.multinomial(len(array), np.full(len(array), 1 / len(array)), size=resamples)
    low, high = np.quantile(counts @ array / len(array), [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(array.mean()), float(low), float(high))


def randomization_test(
    first: ArrayLike, second: ArrayLike, *, permutations: int = PERMUTATIONS, seed: int = 0
) -> float:
    """Two-sided p-value of the difference in means of two settings over the same questions.

    Under the null hypothesis each question's two values could be swapped (Smucker, Allan and Carterette 2007). Up to
    `EXACT` questions that differ, all swaps are counted; above, `permutations` random ones, and the p-value is
    (b + 1) / (m + 1), which is never 0 (Phipson and Smyth 2010).

    Raises:
        ValueError: when the lengths differ, there is no value, or one that is not finite.
    """
    one, other = _finite(first), _finite(second)
    if len(one) != len(other):
        raise ValueError(f"{len(one)} and {len(other)} values are no pairs")
    differences = (one - other)[one != other]
    if not len(differences):
        return 1.0
    observed = abs(differences.sum()) - _NOISE
    if len(differences) <= EXACT:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(differences))))
        return float(np.mean(np.abs(signs @ differences) >= observed))
    random = np.random.default_rng(seed)
    reached = 0
    for start in range(0, permutations, _TOGETHER):  # all at once they would not fit into memory
        some = min(_TOGETHER, permutations - start)
        flips = random.integers(0, 2, size=(some, len(differences)), dtype=np.int8)
        sums = differences.sum() - 2 * (flips @ differences)
        reached += int(np.count_nonzero(np.abs(sums) >= observed))
    return float((reached + 1) / (permutations + 1))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """P-values adjusted for testing all of them at once, in the order given (Holm 1979).

    Rejecting those at or below a level keeps the chance of a single false rejection at or below it.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return tuple(adjusted)


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"one value a question is needed, got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("a value is not a finite number: leave out the questions without one")
    return array
