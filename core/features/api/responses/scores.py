"""Scores of the HTTP service: of each passage its cosine, and two scores from 0 to 1."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from core.model import Passage
from core.run.state import Run
from core.stages.ranking.calibration import calibration_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageScore:
    """The scores of a passage; all 0 when it took no part in the ranking."""

    score: float = 0.0
    """The similarity that the vector database gave; of a page of the web its cosine. Negative values are 0."""
    similarity: float = 0.0
    """The calibrated cosine, which thresholds are compared with."""
    cosine: float | None = None
    """The cosine of the ranking, from -1 to 1, or None without vectors."""


class Scores:
    """The scores of a run's passages. Without vectors, they are the BM25 scores over the highest one."""

    def __init__(self, run: Run) -> None:
        self._cosine, self._bm25 = _by_id(run)
        self._calibration = calibration_of(run.index.embedder if run.index else "")
        self._similarity: Mapping[str, float | None] = {hit.key: hit.similarity for hit in run.hits}

    def of(self, passage: Passage) -> PassageScore:
        """The scores of a passage. A part of a passage of a collection has the database's score of the whole."""
        if (cosine := self._cosine.get(passage.id)) is None:
            bm25 = self._bm25.get(passage.id, 0.0)
            return PassageScore(score=bm25, similarity=bm25)
        similarity = self._similarity.get(passage.place.page)
        return PassageScore(
            score=_unit(cosine if similarity is None else similarity),
            similarity=self._calibration.similarity(cosine),
            cosine=cosine,
        )


def _by_id(run: Run) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Return the cosines by passage id, and the BM25 scores if there are no vectors."""
    if run.index is None or run.ranking is None:
        return {}, {}
    ids = [passage.id for passage in run.index.passages]
    cosine, bm25 = run.ranking.cosine, run.ranking.bm25
    if cosine is not None:
        pairs = zip(ids, map(float, cosine), strict=True)
        return {name: score for name, score in pairs if not math.isnan(score)}, {}
    if bm25 is None or not len(bm25):
        return {}, {}
    best = max(float(bm25.max()), 1e-12)
    return {}, {name: _unit(float(score) / best) for name, score in zip(ids, bm25, strict=True)}


def _unit(score: float) -> float:
    return min(max(score, 0.0), 1.0)
