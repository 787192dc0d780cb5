"""How many questions a comparison by labels needs, before one begins: the power of the test that may stop at any label.

The sum of n estimates of a difference d with standard deviation s is about normal, with mean n * d and variance n * s^2.
The test of `sequential_test` reaches its level when the sum is beyond

    sqrt((V + SCALE) * (2 * log(1 / level) + log((V + SCALE) / SCALE))), V = n * (s^2 + d^2),

so the chance of a verdict after n questions is that of a normal variable to be beyond that bound (the power of a test;
Cohen 1988). It may come earlier, so the chance of one by then is somewhat larger. The standard deviation is not known
before there are labels: it is expected from the factors of the samples, with gains that are drawn independently with
the mean and variance of the labels in hand, or typical ones until there are some.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

from core.evaluation.labels.label_samples import LARGEST, Sample
from core.evaluation.statistics.sequential_test import SCALE
from core.evaluation.statistics.significance import SIGNIFICANT
from core.model import Grade

POWER = 0.8
"""The chance of a verdict that questions are planned for."""
PLANNED = 0.2
"""The difference of the mean DCG that is planned for before there is an estimate: one relevant passage a question, which
the other ranking has at rank 2 instead of 1 in every second question."""
MOST = 1_000_000
TYPICAL_GAIN = 0.25
"""Before there are labels, one passage in four is taken to be relevant."""
_TYPICAL_LABELS = 20
"""How many labels that is worth."""
_STEPS, _BISECTIONS = 50, 40


def expected_spread(samples: Sequence[Sample], grades: Mapping[str, Mapping[str, int]]) -> float:
    """The standard deviation to be expected of the estimate of a question."""
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
    """The fewest questions after which this difference of the mean DCG, more than 0, gets a verdict with a chance of `POWER`;
    `spread` is the standard deviation of the estimate of a question."""
    low, high = 0, MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle, difference, spread) >= POWER else (middle, high)
    return high


def difference_shown(questions: int, spread: float) -> float:
    """The smallest difference of the mean DCG, at most `LARGEST`, that so many questions show with a chance of `POWER`;
    infinite where none is."""
    # For very large differences the bound rises faster than the sum, so the chance is not monotone: bisection alone fails.
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
    """The chance that so many questions have a verdict for this difference."""
    squares = questions * (spread**2 + difference**2) + SCALE
    bound = math.sqrt(squares * (2 * math.log(1 / SIGNIFICANT) + math.log(squares / SCALE)))
    deviation = math.sqrt(questions) * spread
    beyond = questions * difference - bound
    return NormalDist().cdf(beyond / deviation) if deviation else float(beyond >= 0)


def rounded_up(count: int) -> int:
    """To two significant digits."""
    unit = int(10 ** max(len(str(count)) - 2, 0))
    return math.ceil(count / unit) * unit
