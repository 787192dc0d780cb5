"""Scores by rank, with the context's cut-off, and the elbow of such a curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.analysis.rankings.ranked_passages import ranks_by_row
from core.run.state import Run
from core.stages.context_selection import least_cosine


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreCurve:
    """Scores by rank. A reranking model scores the best passages only, so the curve may be shorter than the ranking.

    `cutoff` is the last rank that is in the context, 0 when none is.
    """

    name: str
    scores: tuple[float, ...]
    context: tuple[int, ...]
    """Ranks, from 1, of the passages in the context; they may lie beyond the scores."""
    cutoff: int
    threshold: float | None
    """The minimum cosine of the context, when the curve shows cosines and a minimum is set."""


def score_curve(run: Run) -> ScoreCurve | None:
    """The score that the passages are ordered by, which falls; None when there is no ranking."""
    if run.ranking is None or not len(run.ranking.order):
        return None
    name, scores = run.ranking.deciding
    if scores is None:
        return None
    ordered = scores[run.ranking.order]
    ordered = ordered[np.isfinite(ordered)]
    ranks = ranks_by_row(run.ranking)
    context = tuple(ranks[row] for row in run.ranking.context if row in ranks)
    threshold = least_cosine(run.index.embedder, run.knobs.rank) if run.index else -1.0
    return ScoreCurve(
        name=name,
        scores=tuple(float(score) for score in ordered),
        context=context,
        cutoff=max(context, default=0),
        threshold=threshold if name == "cosine" and threshold > -1 else None,
    )


def elbow(scores: NDArray[np.float32]) -> int | None:
    """The rank, from 1, of the last score before a falling curve flattens; None where it has no elbow.

    The point farthest below the chord from the first score to the last, both axes scaled to 1 (Kneedle:
    Satopää, Albrecht, Irwin and Raghavan, ICDCS Workshops 2011, without smoothing). `scores` must fall.
    """
    known = scores[np.isfinite(scores)].astype(np.float64)
    if len(known) < 3 or known[0] - known[-1] <= 1e-9:
        return None
    down = (known - known[-1]) / (known[0] - known[-1])
    along = np.linspace(0, 1, len(known))
    below = 1 - along - down
    found = int(np.argmax(below))
    return found if below[found] > 0.05 and found else None
