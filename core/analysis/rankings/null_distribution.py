"""Whether a score is high: this question's cosines against those of unrelated questions on the same passages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.analysis.embedding_map.text_vectors import Vectors, vectors_of
from core.analysis.rankings.unrelated_questions import UNRELATED
from core.ports import Embed
from core.run.state import Run

CHANCE = 99.0
"""The percentile of the unrelated questions' cosines that a cosine must exceed to be called above chance."""

NEAREST_LEFT_OUT = 4
"""Of the forty unrelated questions, those nearest to this one are dropped: they may not be unrelated to it."""

BINS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Shares of the passages in each bin. `edges` has one number more than the shares."""

    edges: tuple[float, ...]
    asked: tuple[float, ...]
    unrelated: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NullDistribution:
    """`chance` is the cosine that 1 in 100 passages reaches for a question about something else.

    `above` passages exceed it for this question, where chance alone would explain `expected`. `floor` is
    the middle cosine of the unrelated questions, and `last` the lowest cosine in the context.
    """

    histogram: Histogram
    passages: int
    chance: float
    floor: float
    above: int
    expected: float
    context_above: int
    context: int
    last: float | None

    @property
    def summary(self) -> str:
        """One sentence for a person."""
        return (
            f"{self.above:,} of {self.passages:,} passages score above {self.chance:.2f}, which only "
            f"{100 - CHANCE:g} in 100 reach for questions about something else; {self.context_above} of the "
            f"{self.context} in the context do."
        )


async def null_distribution(run: Run, embed: Embed) -> NullDistribution | None:
    """The null distribution of the run's cosines; None where there are no vectors or no passages.

    Raises:
        EmbedFailed: when the embedder does, or is not the one that embedded the run.
    """
    if run.index is None or run.index.vectors is None or run.index.question is None or run.ranking is None:
        return None
    asked = run.ranking.cosine
    if asked is None or not np.isfinite(asked).any():
        return None
    vectors = await vectors_of(UNRELATED, embed, beside=run.index)
    unrelated = null_scores(run.index.vectors, run.index.question, vectors)
    known = asked[np.isfinite(asked)].astype(np.float64)
    chance = float(np.percentile(unrelated, CHANCE))
    context = [float(asked[row]) for row in run.ranking.context]
    return NullDistribution(
        histogram=_histogram(known, unrelated),
        passages=len(known),
        chance=chance,
        floor=float(np.median(unrelated)),
        above=int((known > chance).sum()),
        expected=len(known) * (100 - CHANCE) / 100,
        context_above=sum(score > chance for score in context),
        context=len(context),
        last=min(context, default=None),
    )


def null_scores(passages: Vectors, question: Vectors, unrelated: Vectors) -> NDArray[np.float64]:
    """Cosines of every passage with every question that is not among those nearest to this one, flat."""
    far = np.argsort(unrelated @ question, kind="stable")[: max(len(unrelated) - NEAREST_LEFT_OUT, 1)]
    scores = np.nan_to_num(passages) @ unrelated[far].T
    return scores.astype(np.float64).ravel()


def _histogram(asked: NDArray[np.float64], unrelated: NDArray[np.float64]) -> Histogram:
    low = float(min(asked.min(), unrelated.min()))
    high = float(max(asked.max(), unrelated.max()))
    edges = np.linspace(low, high if high > low else low + 0.01, BINS + 1)
    shares = [np.histogram(scores, edges)[0] / len(scores) for scores in (asked, unrelated)]
    return Histogram(
        edges=tuple(edges.tolist()), asked=tuple(shares[0].tolist()), unrelated=tuple(shares[1].tolist())
    )


def elbow(scores: NDArray[np.float32]) -> int | None:
    """The rank, from 1, of the last score before a falling curve flattens; None where it has no bend.

    The point farthest below the chord from the first score to the last, both axes scaled to 1 (Kneedle:
    Satopää, Albrecht, Irwin and Raghavan, ICDCS Workshops 2011, without smoothing). `scores` must fall.
    """
    known = scores[np.isfinite(scores)].astype(np.float64)
    if len(known) < 3 or known[0] - known[-1] <= 1e-9:
        return None
    down = (known - known[-1]) / (known[0] - known[-1])
    along = np.linspace(0, 1, len(known))
    below = 1 - along - down
    bend = int(np.argmax(below))
    return bend if below[bend] > 0.05 and bend else None
