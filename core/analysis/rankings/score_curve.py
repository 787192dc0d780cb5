"""Scores by rank, with the context's cut-off and the elbow of the curve."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.analysis.rankings.ranked_passages import known, ranks_by_row
from core.run.state import Run
from core.stages.ranking.context_selection import least_cosine


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreCurve:
    """Scores by rank, in the order of the current ranking.

    `cosine` and `bm25` have every ranked passage, or are empty if not computed. They do not fall under a ranking by
    another score. A reranking model scores the best passages only, so `scores` may be shorter. `cutoff` is the last
    rank in the context, or 0.
    """

    name: str
    """The score that orders the passages."""
    scores: tuple[float, ...]
    """The values of the ordering score, which fall."""
    cosine: tuple[float | None, ...]
    bm25: tuple[float | None, ...]
    context: tuple[int, ...]
    """Ranks, from 1, of the context's passages, which may lie beyond `scores`."""
    cutoff: int
    threshold: float | None
    """The minimum cosine of the context, if set."""


def score_curve(run: Run) -> ScoreCurve | None:
    """Return the scores of a run's passages by rank, or None without a ranking."""
    if run.ranking is None or not len(run.ranking.order):
        return None
    name, scores = run.ranking.deciding
    if scores is None:
        return None
    order = run.ranking.order
    falling = scores[order]
    ranks = ranks_by_row(run.ranking)
    context = tuple(ranks[row] for row in run.ranking.context if row in ranks)
    threshold = least_cosine(run.index.embedder, run.knobs.rank) if run.index else -1.0
    return ScoreCurve(
        name=name,
        scores=tuple(float(score) for score in falling[np.isfinite(falling)]),
        cosine=_by_rank(run.ranking.cosine, order),
        bm25=_by_rank(run.ranking.bm25, order),
        context=context,
        cutoff=max(context, default=0),
        threshold=threshold if threshold > -1 else None,
    )


def _by_rank(scores: NDArray[np.float32] | None, order: NDArray[np.int64]) -> tuple[float | None, ...]:
    return () if scores is None else tuple(known(scores[order]))


def elbow(scores: NDArray[np.float32]) -> int | None:
    """Return the rank of the last score before a falling curve flattens, or None.

    Ranks count from 1. The elbow is the point farthest below the chord from the first score to the last, both axes
    scaled to 1 (Kneedle: Satopää, Albrecht, Irwin and Raghavan, ICDCS Workshops 2011, without smoothing). `scores` must
    fall.
    """
    finite = scores[np.isfinite(scores)].astype(np.float64)
    if len(finite) < 3 or finite[0] - finite[-1] <= 1e-9:
        return None
    down = (finite - finite[-1]) / (finite[0] - finite[-1])
    along = np.linspace(0, 1, len(finite))
    below = 1 - along - down
    cut_off = int(np.argmax(below))
    return cut_off if below[cut_off] > 0.05 and cut_off else None
