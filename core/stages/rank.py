"""Order the passages for the question and choose which become numbered sources."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from core.knobs import RankKnobs, Strategy
from core.model import Evidence, Index, Page, Source
from core.stages.choose import context
from core.stages.diversify import diversified
from core.stages.lexical import bm25

RRF_K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""

Scores = NDArray[np.float32]
Order = NDArray[np.int64]

NO_CLUSTERS: Mapping[str, int] = MappingProxyType({})
"""No two pages carry the same text."""


def rank(
    question: str,
    index: Index,
    knobs: RankKnobs,
    *,
    language: str = "",
    clusters: Mapping[str, int] = NO_CLUSTERS,
) -> Evidence:
    """The index's passages, best first; equal scores keep the index's order.

    Cosine is computed whenever there are vectors, BM25 when the strategy needs it. Without vectors the
    strategy is bm25, and the evidence says so. With `knobs.diversity` the best are put in a new order by
    `diversified`, where there are vectors to compare them by. `language` is an ISO 639-1 code for the
    stemmer; empty: detected. Who of the ranked becomes a source is told by `core.stages.choose`, for which
    `clusters` names pages with nearly the same text.
    """
    cosine = _cosine(index)
    words = fused = diverse = None
    if cosine is None or knobs.strategy is Strategy.BM25:
        words = bm25(question, index.passages, language)
        strategy, scores = Strategy.BM25, words
    elif knobs.strategy is Strategy.FUSED:
        words = bm25(question, index.passages, language)
        fused = fusion(cosine, words, weight=knobs.cosine_weight)
        strategy, scores = Strategy.FUSED, fused
    else:
        strategy, scores = Strategy.COSINE, cosine
    order = best_first(scores)
    if knobs.diversity and index.vectors is not None:
        order, diverse = diversified(order, _relevance(scores, strategy), index.vectors, knobs.diversity)
    chosen = context(
        index.passages,
        order.tolist(),
        knobs,
        cosine=cosine,
        words=words if strategy is Strategy.BM25 else None,
        clusters=clusters,
    )
    for array in (order, cosine, words, fused, diverse):
        if array is not None:
            array.flags.writeable = False
    return Evidence(
        order=order,
        context=chosen,
        strategy=strategy.value,
        cosine=cosine,
        bm25=words,
        fused=fused,
        diverse=diverse,
    )


def best_first(scores: Scores) -> Order:
    """Row numbers by falling score, ties by row; what is not a number comes last."""
    return np.argsort(np.where(np.isnan(scores), np.inf, -scores), kind="stable").astype(np.int64)


def fusion(cosine: Scores, words: Scores, *, weight: float = 0.5) -> Scores:
    """Reciprocal rank fusion: the weighted sum of 1 / (60 + rank) over both orders, ranks from 1.

    Cosine counts 2 * weight and words 2 * (1 - weight), so that at 0.5 this is the plain sum. A passage
    without a score in one of them (not a number, or no word of the question) adds nothing there.
    """
    fused = np.zeros(len(cosine), dtype=np.float64)
    for scores, ranked, share in ((cosine, ~np.isnan(cosine), weight), (words, words > 0, 1 - weight)):
        order = best_first(scores)
        order = order[ranked[order]]
        fused[order] += 2 * share / (RRF_K + np.arange(1, len(order) + 1))
    return fused.astype(np.float32)


def sources(evidence: Evidence, index: Index, pages: Mapping[str, Page]) -> tuple[Source, ...]:
    """The context as numbered sources, with their pages' titles and addresses."""
    chosen = (index.passages[row] for row in evidence.context)
    return tuple(
        Source(
            number=number,
            passage=passage,
            title=(page := pages[passage.place.page]).title,
            url=page.url,
            site=page.article.site,
        )
        for number, passage in enumerate(chosen, start=1)
    )


def _cosine(index: Index) -> Scores | None:
    if index.vectors is None or index.question is None:
        return None
    # One dot product a row, on this thread: BLAS threads stall for 20 ms on a busy machine.
    scores: Scores = np.clip(np.vecdot(index.vectors, index.question), -1, 1)
    return scores


def _relevance(scores: Scores, strategy: Strategy) -> Scores:
    """Cosines as they are; scores on other scales as shares of the best, to be weighed against cosines."""
    return scores if strategy is Strategy.COSINE else scores / max(float(scores.max(initial=0.0)), 1e-12)
