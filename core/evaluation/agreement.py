"""Agreement of two raters beyond chance: Cohen's kappa with a bootstrap interval over the items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.evaluation.significance import CONFIDENCE, RESAMPLES, Interval

Counts = NDArray[np.int64]


def cohen_kappa(first: Sequence[str], second: Sequence[str]) -> float:
    """(observed agreement - agreement by chance) / (1 - agreement by chance), where chance is the product of the
    raters' own shares of each category (Cohen 1960). 1 is full agreement, 0 what chance gives.

    Raises:
        ValueError: when there is no item, the lengths differ, or both raters use one and the same category only.
    """
    return _defined(_counts(first, second))


def kappa_interval(
    first: Sequence[str], second: Sequence[str], *, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Cohen's kappa with its percentile bootstrap interval over items. Resamples in which it is not defined, because
    one category is left, are not counted. ValueError as for `cohen_kappa`."""
    counts = _counts(first, second)
    found = _defined(counts)
    draws = np.random.default_rng(seed).multinomial(
        counts.sum(), counts.ravel() / counts.sum(), size=resamples
    )
    bounds = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    low, high = np.nanquantile(_kappa(draws.reshape(-1, *counts.shape)), bounds)
    return Interval(found, float(low), float(high))


def _counts(first: Sequence[str], second: Sequence[str]) -> Counts:
    """How many items have each pair of categories, shape (categories, categories)."""
    if not first or len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} ratings are no pairs")
    categories, codes = np.unique([*first, *second], return_inverse=True)
    counts = np.zeros((len(categories), len(categories)), dtype=np.int64)
    np.add.at(counts, (codes[: len(first)], codes[len(first) :]), 1)
    return counts


def _defined(counts: Counts) -> float:
    kappa = float(_kappa(counts))
    if np.isnan(kappa):
        raise ValueError("both raters use one category only, so agreement by chance is full")
    return kappa


def _kappa(counts: Counts) -> NDArray[np.float64]:
    """Kappa of each table in the last two axes; not a number where agreement by chance is full."""
    shares = counts / counts.sum(axis=(-2, -1), keepdims=True)
    observed = np.trace(shares, axis1=-2, axis2=-1)
    chance = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
    room = np.where(chance < 1, 1 - chance, np.nan)
    return np.asarray((observed - chance) / room)
