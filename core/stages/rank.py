"""Order the passages for the question and choose which become numbered sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from core.knobs import RankKnobs, Strategy
from core.model import Evidence, Index, Page, Source
from core.stages.lexical import bm25

RRF_K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""

Scores = NDArray[np.float32]
Order = NDArray[np.int64]


def rank(question: str, index: Index, knobs: RankKnobs, *, language: str = "") -> Evidence:
    """The index's passages, best first; equal scores keep the index's order.

    Cosine is computed whenever there are vectors, BM25 when the strategy needs it. Without vectors the
    strategy is bm25, and the evidence says so. The context takes the best `knobs.top_k` of those that reach
    `knobs.threshold` (where there is a cosine) and, if words alone rank, share a word with the question, at
    most `knobs.per_page` of one page. `language` is an ISO 639-1 code for the stemmer; empty: detected.
    """
    cosine = _cosine(index)
    words = fused = None
    if cosine is None or knobs.strategy is Strategy.BM25:
        words = bm25(question, index.passages, language)
        strategy, order = Strategy.BM25, best_first(words)
    elif knobs.strategy is Strategy.FUSED:
        words = bm25(question, index.passages, language)
        fused = fusion(cosine, words)
        strategy, order = Strategy.FUSED, best_first(fused)
    else:
        strategy, order = Strategy.COSINE, best_first(cosine)
    context = _context(index, order, knobs, cosine, words if strategy is Strategy.BM25 else None)
    for array in (order, cosine, words, fused):
        if array is not None:
            array.flags.writeable = False
    return Evidence(
        order=order, context=context, strategy=strategy.value, cosine=cosine, bm25=words, fused=fused
    )


def best_first(scores: Scores) -> Order:
    """Row numbers by falling score, ties by row; what is not a number comes last."""
    return np.argsort(np.where(np.isnan(scores), np.inf, -scores), kind="stable").astype(np.int64)


def fusion(cosine: Scores, words: Scores) -> Scores:
    """Reciprocal rank fusion: the sum of 1 / (60 + rank) over both orders, ranks from 1.

    A passage without a score in one of them (not a number, or no word of the question) adds nothing there.
    """
    fused = np.zeros(len(cosine), dtype=np.float64)
    for scores, ranked in ((cosine, ~np.isnan(cosine)), (words, words > 0)):
        order = best_first(scores)
        order = order[ranked[order]]
        fused[order] += 1 / (RRF_K + np.arange(1, len(order) + 1))
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


def _context(
    index: Index, order: Order, knobs: RankKnobs, cosine: Scores | None, words: Scores | None
) -> tuple[int, ...]:
    context: list[int] = []
    taken: Counter[str] = Counter()
    for row in order.tolist():
        if len(context) == knobs.top_k:
            break
        if cosine is not None and not cosine[row] >= knobs.threshold:
            continue
        if words is not None and not words[row] > 0:
            continue
        page = index.passages[row].place.page
        if knobs.per_page and taken[page] == knobs.per_page:
            continue
        taken[page] += 1
        context.append(row)
    return tuple(context)
