"""A sequential test of paired differences, valid after every question, and its confidence sequence.

Questions are a sample of all possible questions, taken in random order. If the two settings could be swapped in each
question, as in `significance.randomization_test`, the estimate y of a question is as likely as -y. Then E exp(l * y -
l^2 * y^2 / 2) <= 1 for every l, because cosh(x) <= exp(x^2 / 2) (de la Pena 1999, "A general class of exponential
inequalities for martingales and ratios"; as a test of symmetry: Vovk and Wang 2024, "Nonparametric e-tests of
symmetry"). With S = sum of y, V = sum of y^2, and l drawn from a normal distribution of mean 0 and variance 1 / `SCALE`
(Robbins 1970), the expectation

    e = sqrt(SCALE / (V + SCALE)) * exp(S^2 / (2 * (V + SCALE)))

is a supermartingale that begins at 1. The chance that it ever reaches 1 / level is at most the level (Ville 1939), so
the p-value 1 / e is valid after every label. The interval is the confidence sequence of the same test (Howard, Ramdas,
McAuliffe and Sekhon 2021, "Time-uniform, nonparametric, nonasymptotic confidence sequences"): the differences m for
which y - m does not reach the level. It is approximate if y - m is not symmetric; `bench/labelling.py` measures the
error rate.
"""

import math
from collections.abc import Sequence

from core.features.evaluate.statistics.significance import SIGNIFICANT, Interval

SCALE = 1.0
"""The scale of the test, which is sharpest if V is about eight times as large.

That is some thirty sampled relevant passages.
"""
_BISECTIONS = 60


def p_value(estimates: Sequence[float]) -> float:
    """Return the two-sided p-value of symmetry about 0, valid at any number of estimates."""
    return _p_value(math.fsum(estimates), math.fsum(estimate * estimate for estimate in estimates))


def interval(estimates: Sequence[float], largest: float, level: float = SIGNIFICANT) -> Interval:
    """Return the mean of the estimates with its confidence sequence of coverage 1 - `level`.

    `largest` is the largest possible difference, and no bound is beyond it. An interval that excludes 0 has a p-value
    of at most `level`. Below some twelve questions the test cannot exclude large differences, and the interval shows
    that even if the p-value is small.

    Raises:
        ValueError: when there is no estimate.
    """
    if not estimates:
        raise ValueError("there is no estimate")
    count, mean = len(estimates), math.fsum(estimates) / len(estimates)
    squares = math.fsum((estimate - mean) ** 2 for estimate in estimates)

    def is_excluded(distance: float) -> bool:
        """Return whether differences at this distance from the mean are outside the interval."""
        return _p_value(count * distance, squares + count * distance**2) <= level

    inside, outside = 0.0, largest + abs(mean)
    if not is_excluded(outside):
        inside = outside
    for _ in range(_BISECTIONS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if is_excluded(middle) else (middle, outside)
    return Interval(mean, max(mean - outside, -largest), min(mean + outside, largest))


def _p_value(total: float, squares: float) -> float:
    spread = squares + SCALE
    return min(1.0, math.exp(math.log(spread / SCALE) / 2 - total * total / (2 * spread)))
