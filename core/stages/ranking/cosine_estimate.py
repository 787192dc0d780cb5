"""Estimate cosines of passages without vectors from words shared with embedded passages."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

import numpy as np
from cachetools import LRUCache, cached

from core.model import Index, Page
from core.model.arrays import Rows
from core.stages.ranking.bm25 import NO_PAGES, bm25, bm25_index
from core.text.bm25_index import Bm25Index, Scores

_WIDTH = 512
"""The number of hash buckets for the words of a passage."""
_NOISE = 0.35
"""The share of the variance of cosines that words do not explain."""
_BLOCK = 512
"""The number of waiting passages that are computed at a time, which bounds the memory."""
_GRID = 256
"""The number of cosines at which higher passages are counted. Other counts are interpolated."""


@dataclass(frozen=True, slots=True, eq=False)
class CosineEstimate:
    """The rows of waiting passages, with mean and standard deviation of their cosines."""

    rows: Rows
    mean: Scores
    deviation: Scores

    def expected_above(self, cosine: Scores) -> Scores:
        """Count the passages expected above each cosine, as float32."""
        known = cosine[~np.isnan(cosine)]
        grid = np.linspace(known.min(), known.max(), _GRID, dtype=np.float32)
        counts = [float(self.chance_above(value).sum()) for value in grid]
        above: Scores = np.interp(cosine, grid, counts).astype(np.float32)
        return above

    def chance_above(self, cosine: Scores | np.float32) -> Scores:
        """Return each passage's probability of a higher cosine. `cosine` is one value, or a value for each passage."""
        return _normal_distribution((self.mean - cosine) / self.deviation)


def cosine_estimate(
    question: str, index: Index, pages: Mapping[str, Page] = NO_PAGES
) -> CosineEstimate | None:
    """Estimate the cosines of the index's waiting passages.

    None if no passage waits or none has a vector yet. This is Bayesian linear regression (Bishop, 2006, section 3.3).
    The cosines of the embedded passages are explained by the square root of their BM25, by least squares, and the
    remainder by their words from `Bm25Index.hashed_words`. The last estimate is cached.
    """
    return _estimate(question, index, pages)[0] if len(index.waiting) else None


@cached(LRUCache(1), key=lambda question, index, pages: (question, id(index), bool(pages)), lock=Lock())
def _estimate(question: str, index: Index, pages: Mapping[str, Page]) -> tuple[CosineEstimate | None, Index]:
    """Estimate the cosines. The index is cached too, so that its `id` is not reused."""
    waiting = index.waiting
    embedded = np.setdiff1d(np.arange(len(index.passages)), waiting)
    if index.vectors is None or index.question is None or not len(embedded):
        return None, index
    root = np.sqrt(bm25(question, index.passages, pages))
    by_score = np.stack([np.ones_like(root), root], axis=1)
    cosine = np.vecdot(index.vectors[embedded], index.question)
    coefficients = np.linalg.lstsq(by_score[embedded], cosine)[0]
    unexplained = cosine - by_score[embedded] @ coefficients
    by_words = _hashed_words(bm25_index(index.passages, pages))
    known = by_words[embedded]
    precision = known.T @ known + np.float32(_NOISE / (1 - _NOISE)) * np.eye(_WIDTH, dtype=np.float32)
    weights = np.linalg.solve(precision, known.T @ unexplained)
    root_of_inverse = np.linalg.inv(np.linalg.cholesky(precision)).T
    mean = by_score[waiting] @ coefficients
    distance = np.empty(len(waiting), dtype=np.float32)
    for start in range(0, len(waiting), _BLOCK):
        part = slice(start, start + _BLOCK)
        words = by_words[waiting[part]]
        mean[part] += words @ weights
        distance[part] = np.square(words @ root_of_inverse).sum(axis=1)
    deviation = np.sqrt(_NOISE * max(float(unexplained.var()), 1e-8) * (1 + distance))
    return CosineEstimate(waiting, mean.astype(np.float32), deviation.astype(np.float32)), index


@lru_cache(maxsize=1)
def _hashed_words(words: Bm25Index) -> Scores:
    """Hash the words once for all rounds of a run."""
    return words.hashed_words(_WIDTH)


def _normal_distribution(deviations: Scores) -> Scores:
    """Approximate the standard normal distribution function.

    The approximation with tanh (Page, 1977) is exact to .0002.
    """
    curve = np.sqrt(2 / np.pi) * (deviations + 0.044715 * deviations**3)
    probability: Scores = (0.5 * (1 + np.tanh(curve))).astype(np.float32)
    return probability
