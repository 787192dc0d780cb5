"""Scores of the HTTP service, from 0 to 1."""

from __future__ import annotations

import math

from core.model import Index, Passage, Ranking


def unit(cosine: float) -> float:
    """A cosine as a score from 0 to 1: negative values become 0.

    Clamped, not stretched: a threshold then means the same here as the knob "Minimum cosine" does on the
    page, and texts that have nothing to do with each other score near 0 rather than near a half.
    """
    return 0.0 if math.isnan(cosine) else min(max(cosine, 0.0), 1.0)


def least_cosine(threshold: float) -> float:
    """The minimum cosine that lets in exactly the scores from `threshold` up. 0 lets in everything."""
    return threshold if threshold > 0 else -1.0


def scores(index: Index | None, ranking: Ranking | None) -> dict[str, float]:
    """Every ranked passage's score by its id: its cosine, or where there are no vectors its BM25 over the best one."""
    if index is None or ranking is None:
        return {}
    ids = [passage.id for passage in index.passages]
    if ranking.cosine is not None:
        return {name: unit(float(score)) for name, score in zip(ids, ranking.cosine, strict=True)}
    if ranking.bm25 is None or not len(ranking.bm25):
        return {}
    best = max(float(ranking.bm25.max()), 1e-12)
    return {name: unit(float(score) / best) for name, score in zip(ids, ranking.bm25, strict=True)}


def score(passage: Passage, known: dict[str, float]) -> float:
    """A passage's score; 0 when it took no part in the ranking."""
    return known.get(passage.id, 0.0)
