"""Rank test for a change between two runs against the noise of unchanged repeats.

A question differs from itself: searches change their order, pages time out, models choose other words. Its noise is the
scores of repeats against one earlier run. While nothing changed, a later run is one more repeat, and every order of the
scores is equally likely, whatever their distribution, like in conformal prediction (Vovk, Gammerman and Shafer,
"Algorithmic Learning in a Random World", 2005). Few repeats cannot make one rare score certain, so several consecutive
asks must exceed the noise.
"""

import functools
from collections.abc import Sequence
from itertools import count
from math import comb
from typing import NamedTuple

from core.analysis.run_changes import ChangeScores

FALSE_ALARMS = 0.025
"""The highest probability of a false alarm.

More than 5 false alarms in 100 asks then have a probability below 4 %.
"""
FEWEST_REPEATS, MOST_REPEATS = 3, 50
"""The limits of repeats for a noise. Beyond the upper limit only the latest repeats count."""


class NoiseRule(NamedTuple):
    """The rule for a change: `asks` consecutive asks exceed the `rank`-th highest score of the noise."""

    asks: int
    rank: int


@functools.cache
def noise_rule(repeats: int) -> NoiseRule:
    """Return the fewest asks that keep the bound, with their lowest threshold.

    If all of k asks exceed the r-th highest of n repeats, they are among the highest k + r - 1 of all: C(k + r - 1, k)
    of the C(n + k, k) equally likely orders. The scores of `ChangeScores` share the bound.
    """
    bound = FALSE_ALARMS / len(ChangeScores._fields)
    asks = next(k for k in count(1) if bound * comb(repeats + k, k) >= 1)
    rank = max(
        r for r in range(1, repeats + 1) if comb(asks + r - 1, asks) <= bound * comb(repeats + asks, asks)
    )
    return NoiseRule(asks, rank)


def exceeding(noise: Sequence[ChangeScores], scores: ChangeScores) -> frozenset[str]:
    """Return the names of scores above their noise."""
    rank = noise_rule(len(noise)).rank
    thresholds = (sorted(column, reverse=True)[rank - 1] for column in zip(*noise, strict=True))
    return frozenset(
        name
        for name, score, threshold in zip(ChangeScores._fields, scores, thresholds, strict=True)
        if score > threshold
    )
