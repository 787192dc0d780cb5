"""How certain a figure is: bootstrap intervals, a paired randomization test, and Holm's correction.

All arrays are of one metric, one value a question, float64 of shape (questions,). Results depend on the arguments
alone: random numbers come from `seed`. The latest are kept, since a page asks for the same ones at every redraw.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

CONFIDENCE = 0.95
SIGNIFICANT = 0.05
"""A difference with a p-value above this is not called one."""
RESAMPLES = 2000
PERMUTATIONS = 20_000
EXACT = 14
"""Up to so many questions that differ, all 2 ** n sign patterns are counted instead of a sample of them."""

_TOGETHER = 250
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
    return _bootstrap_interval(_finite(values).tobytes(), confidence, resamples, seed)


@lru_cache(maxsize=1000)
def _bootstrap_interval(values: bytes, confidence: float, resamples: int, seed: int) -> Interval:
    array = np.frombuffer(values)
    draws = _draws(len(array), resamples, seed)
    means = np.concatenate(
        [draws[start : start + _TOGETHER] @ array / len(array) for start in range(0, resamples, _TOGETHER)]
    )
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(array.mean()), float(low), float(high))


@lru_cache(maxsize=1)
def _draws(questions: int, resamples: int, seed: int) -> NDArray[np.uint16]:
    """How often each resample draws each question, shape (resamples, questions): a matrix product has all means."""
    random = np.random.default_rng(seed)
    return np.concatenate(
        [
            random.multinomial(questions, np.full(questions, 1 / questions), size=_TOGETHER).astype(np.uint16)
            for _ in range(0, resamples, _TOGETHER)
        ]
    )[:resamples]


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
    return _randomization_test(differences.tobytes(), permutations, seed) if len(differences) else 1.0


@lru_cache(maxsize=1000)
def _randomization_test(values: bytes, permutations: int, seed: int) -> float:
    differences = np.frombuffer(values)
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
