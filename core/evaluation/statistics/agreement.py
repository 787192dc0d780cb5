"""Agreement of two raters beyond chance: Cohen's kappa with its interval over the items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from core.evaluation.statistics.significance import Interval, mean_interval


def kappa_interval(first: Sequence[Hashable], second: Sequence[Hashable]) -> Interval:
    """Cohen's kappa of two raters: (observed agreement - agreement by chance) / (1 - agreement by chance), where chance
    is the product of the raters' own shares of each category (Cohen 1960). 1 is full agreement, 0 what chance gives.

    The interval is Wilson's of the observed agreement on kappa's scale. Agreement by chance is taken as known, as in
    Cohen's own standard error.

    Raises:
        ValueError: when there is no item, the lengths differ, or both raters use one and the same category only.
    """
    chance = _chance(first, second)
    observed = mean_interval([rating == other for rating, other in zip(first, second, strict=True)])
    mean, low, high = (
        (share - chance) / (1 - chance) for share in (observed.mean, observed.low, observed.high)
    )
    return Interval(mean, max(low, -1.0), high)


def _chance(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """The share of the items on which raters with these shares of each category would agree by chance."""
    if not first or len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} ratings are no pairs")
    ours, theirs = Counter(first), Counter(second)
    chance = sum(ours[category] * theirs[category] for category in ours) / (len(first) * len(second))
    if chance >= 1:
        raise ValueError("both raters use one category only, so agreement by chance is full")
    return chance
