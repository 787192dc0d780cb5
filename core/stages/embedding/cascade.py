"""The cascade: which passages are embedded before the context is chosen, and when no other one can enter it.

On this machine embedding is slow, and of the passages of a large run a few are used. BM25 chooses the first that are
embedded, the words of the best of these the next ones, round by round, until no passage that waits can plausibly enter
the context. Decision 0075 has the assumption and the figures.
"""

from collections.abc import Mapping
from math import ceil

import numpy as np
from numpy.typing import NDArray

from core.config.knobs import EmbedKnobs, RankKnobs, Strategy
from core.model import Index, Page, Passage, Ranking
from core.model.arrays import Rows
from core.ports import RERANK_DEPTH, Embed
from core.run.hit_merging import RRF_K
from core.stages.rank import best_first, cosine_share
from core.stages.ranking.bm25 import NO_PAGES, bm25, bm25_index
from core.stages.ranking.context_selection import least_cosine

FIRST = 150
"""How many passages BM25 chooses."""
ROUND = 100
"""How many passages are embedded in a round after them."""
PER_ROUND = 400
"""Passages of a run for each round that is embedded before a context counts as settled."""

_BEST, _STEMS = 10, 30
"""How many of the best passages, and of their words, choose a round."""

Scores = NDArray[np.float32]


def cascades(embed: EmbedKnobs, rank: RankKnobs, port: Embed) -> bool:
    """Whether some passages are embedded before others: where that is done on this machine, and by a ranking in which words
    count."""
    is_local = not port.host
    return is_local and not embed.everything_first and not _needs_all(rank)


def first_rows(question: str, passages: tuple[Passage, ...], pages: Mapping[str, Page] = NO_PAGES) -> Rows:
    """The rows that are embedded first, the best by BM25 first: `FIRST` of them, or all where these and the rounds are."""
    least = least_embedded(len(passages))
    return best_first(bm25(question, passages, pages))[: FIRST if len(passages) > least else least]


def least_embedded(passages: int) -> int:
    """Of so many passages the number that are embedded before a context counts as settled."""
    return FIRST + ROUND * ceil(passages / PER_ROUND)


def next_rows(
    question: str, index: Index, ranking: Ranking, knobs: RankKnobs, pages: Mapping[str, Page]
) -> Rows:
    """The rows that are embedded next, the most promising first; none once the context is settled.

    It is settled when at least `least_embedded` passages are embedded and no waiting passage would be in the context even if it
    were as close to the question as the closest of its peers: the `ROUND` embedded passages that share the words of the
    best just more than all that wait. `ranking` is that of the index under these knobs.
    """
    waiting = index.waiting
    if not len(waiting) or _needs_all(knobs):
        return waiting
    if ranking.strategy == Strategy.BM25 and least_cosine(index.embedder, knobs) <= -1:
        return waiting[:0]  # no vector decides about the context
    likeness = _likeness(index.passages, ranking, pages)
    embedded = np.setdiff1d(np.arange(len(likeness)), waiting)
    if len(embedded) >= least_embedded(len(likeness)):
        last = _last_admitted(ranking, knobs)
        above = embedded[likeness[embedded] >= likeness[waiting].max()]
        peers = above[best_first(likeness[above])[-ROUND:]]
        if last is not None and len(peers):
            best = _best_possible(question, index, ranking, knobs, pages, peers)
            waiting = waiting[best[waiting] >= _decided_by(ranking)[last]]
    return waiting[best_first(likeness[waiting])[:ROUND]]


def _needs_all(knobs: RankKnobs) -> bool:
    """Whether words tell nothing about which passages the ranking needs the vectors of."""
    return knobs.strategy is Strategy.COSINE or knobs.diversity > 0


def _likeness(passages: tuple[Passage, ...], ranking: Ranking, pages: Mapping[str, Page]) -> Scores:
    """BM25 of each passage for the words of the best ones, each weighted by how much it stands out in them."""
    by_words = bm25_index(passages, pages)
    return by_words.scores_like(ranking.order[:_BEST], _STEMS)


def _last_admitted(ranking: Ranking, knobs: RankKnobs) -> int | None:
    """The row that a waiting passage would have to beat; None where any could enter."""
    rows = ranking.order[:RERANK_DEPTH].tolist() if knobs.rerank else list(ranking.context)
    wanted = RERANK_DEPTH if knobs.rerank else knobs.top_k
    return int(rows[-1]) if rows and len(rows) >= wanted else None


def _decided_by(ranking: Ranking) -> Scores:
    """The score that decides before any reranking."""
    scores = ranking.fused if ranking.fused is not None else ranking.bm25
    assert scores is not None  # noqa: S101  # a ranking in which words count
    return scores


def _best_possible(  # noqa: PLR0917
    question: str,
    index: Index,
    ranking: Ranking,
    knobs: RankKnobs,
    pages: Mapping[str, Page],
    peers: Rows,
) -> Scores:
    """The deciding score by row, were each passage as close to the question as the closest of these."""
    assert ranking.bm25 is not None  # noqa: S101
    if ranking.fused is None or ranking.cosine is None:
        return ranking.bm25
    share = cosine_share(question, index, pages, knobs.cosine_weight)
    ahead = np.count_nonzero(ranking.cosine > np.nanmax(ranking.cosine[peers]))
    places = np.empty(len(share), dtype=np.int64)
    places[best_first(ranking.bm25)] = np.arange(1, len(share) + 1)
    by_words = np.where(ranking.bm25 > 0, 2 * (1 - share) / (RRF_K + places), 0)
    best: Scores = (2 * share / (RRF_K + ahead + 1) + by_words).astype(np.float32)
    return best
