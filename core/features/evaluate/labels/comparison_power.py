"""Sample size of a comparison by labels: the power of the test that may stop at any label.

The sum of n estimates of a difference d with standard deviation s is about normal, with mean n * d and variance n * s^2.
The test of `sequential_test` reaches its level when the sum is beyond

    sqrt((V + SCALE) * (2 * log(1 / level) + log((V + SCALE) / SCALE))), V = n * (s^2 + d^2),

so the chance of a verdict after n questions is the chance that a normal variable exceeds that bound (the power of a
test; Cohen 1988). A verdict may come earlier, so the chance of a verdict by then is somewhat larger. The standard
deviation is unknown before labels exist. It is estimated from the factors of the samples, with gains drawn
independently with the mean and variance of the known labels, or typical gains before any label.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

from core.features.evaluate.labels.label_samples import LARGEST, Sample
from core.features.evaluate.statistics.sequential_test import SCALE
from core.features.evaluate.statistics.significance import SIGNIFICANT
from core.model import Grade

POWER = 0.8
"""The planned chance of a verdict."""
PLANNED = 0.2
"""The planned difference of the mean DCG before any estimate.

One relevant passage per question is at rank 2 instead of 1 in every second question of the other ranking.
"""
MOST = 1_000_000
TYPICAL_GAIN = 0.25
"""The assumed share of relevant passages before any label."""
_TYPICAL_LABELS = 20
"""The weight of `TYPICAL_GAIN`, in labels."""
_STEPS, _BISECTIONS = 50, 40


def expected_spread(samples: Sequence[Sample], grades: Mapping[str, Mapping[str, int]]) -> float:
    """Return the expected standard deviation of a question's estimate."""
    gains = [
        grades[sample.question][passage] / Grade.RELEVANT
        for sample in samples
        if sample.question in grades
        for passage in sample.factors
        if passage in grades[sample.question]
    ]
    count = len(gains) + _TYPICAL_LABELS
    mean = (math.fsum(gains) + _TYPICAL_LABELS * TYPICAL_GAIN) / count
    squared = (math.fsum(gain * gain for gain in gains) + _TYPICAL_LABELS * TYPICAL_GAIN) / count
    alone = math.fsum(factor * factor for sample in samples for factor in sample.factors.values())
    together = math.fsum(math.fsum(sample.factors.values()) ** 2 for sample in samples)
    variance = (squared - mean * mean) * alone + mean * mean * together
    return math.sqrt(variance / max(len(samples), 1))


def questions_needed(difference: float, spread: float) -> int:
    """Return the fewest questions that show a difference with a chance of `POWER`.

    `difference` is that of the mean DCG, above 0. `spread` is the standard deviation of a question's estimate.
    """
    low, high = 0, MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle, difference, spread) >= POWER else (middle, high)
    return high


def difference_shown(questions: int, spread: float) -> float:
    """Return the smallest difference that the questions show with a chance of `POWER`.

    It is a difference of the mean DCG, at most `LARGEST`, or infinity if nothing can be shown.
    """
    # For very large differences the bound rises faster than the sum, so the chance is not monotone and bisection alone
    # fails.
    steps = (LARGEST * step / _STEPS for step in range(1, _STEPS + 1))
    high = next((step for step in steps if chance(questions, step, spread) >= POWER), math.inf)
    if high == math.inf:
        return math.inf
    low = high - LARGEST / _STEPS
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if chance(questions, middle, spread) >= POWER else (middle, high)
    return high


def chance(questions: int, difference: float, spread: float) -> float:
    """Return the chance of a verdict for this difference after `questions` questions."""
    squares = questions * (spread**2 + difference**2) + SCALE
    bound = math.sqrt(squares * (2 * math.log(1 / SIGNIFICANT) + math.log(squares / SCALE)))
    deviation = math.sqrt(questions) * spread
    beyond = questions * difference - bound
    return NormalDist().cdf(beyond / deviation) if deviation else float(beyond >= 0)


def rounded_up(count: int) -> int:
    """Round a count up to two significant digits."""
    unit = int(10 ** max(len(str(count)) - 2, 0))
    return math.ceil(count / unit) * unit
