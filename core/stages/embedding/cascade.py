"""Choose which passages are embedded before the context, and when the context is final.

Local embedding is slow, and few passages of a large run are used. BM25 chooses the first passages to embed. The cosines
of the others are estimated from the first passages' cosines and words. The most promising passages are next, in rounds,
until no waiting passage is expected to enter the context. Decision 0075 has the figures.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from core.config.knobs import EmbedKnobs, RankKnobs, Strategy
from core.model import Index, Page, Passage, Ranking
from core.model.arrays import Rows
from core.ports import RERANK_DEPTH, Embed
from core.run.hit_merging import RRF_K
from core.run.state import Run
from core.stages.rank import best_first, cosine_share
from core.stages.ranking.bm25 import NO_PAGES, bm25
from core.stages.ranking.context_selection import least_cosine
from core.stages.ranking.cosine_estimate import CosineEstimate, cosine_estimate
from core.text.bm25_index import Scores

FIRST = 150
"""The number of passages that BM25 chooses."""
ROUND = 50
"""The number of passages that each later round embeds."""
MOST_ENTERING = 0.1
"""The expected number of waiting passages that belong into the context below which the context is final."""


@dataclass(frozen=True, slots=True)
class EmbeddingPriority:
    """The choice of passages that are embedded first."""

    rows: Callable[[tuple[Passage, ...], bool], Rows]
    """Returns their rows among the given passages, most promising first.

    The second argument says whether these are all passages of the index.
    """
    early_budget: Callable[[], int]
    """Returns the maximum number to embed while pages are missing, which may have better passages."""


def cascades(embed: EmbedKnobs, rank: RankKnobs, port: Embed) -> bool:
    """Check whether some passages are embedded before others.

    That needs a local embedder, and a ranking that uses words.
    """
    is_local = not port.host
    return is_local and not embed.everything_first and not _needs_all(rank)


def initial_rows(
    question: str, passages: tuple[Passage, ...], pages: Mapping[str, Page] = NO_PAGES, *, keep: bool = True
) -> Rows:
    """Choose the rows that are embedded first. They are the best `FIRST` rows by BM25, or all rows if there are fewer.

    `keep` says whether the BM25 index of these passages is needed again.
    """
    return best_first(bm25(question, passages, pages, keep=keep))[:FIRST]


def early_budget(run: Run) -> int:
    """Limit the passages to embed while pages are missing.

    The limit is `FIRST` times the share of the expected pages that were read or skipped. Searches without a reply are
    expected to find as many pages as the others.
    """
    ended = (len(run.pages) + len(run.skips)) * (len(run.replies) + len(run.search_faults))
    return min(FIRST, FIRST * ended // max(len(run.hits) * len(run.queries), 1))


def candidate_rows(
    question: str, index: Index, ranking: Ranking, knobs: RankKnobs, pages: Mapping[str, Page]
) -> Rows:
    """Choose the rows to embed next, highest expected cosine first.

    The result is empty if the context is final: fewer than `MOST_ENTERING` waiting passages are expected to enter it,
    by `cosine_estimate`. `ranking` is the index's ranking under these knobs.
    """
    waiting = index.waiting
    if not len(waiting) or _needs_all(knobs):
        return waiting
    if ranking.strategy == Strategy.BM25 and least_cosine(index.embedder, knobs) <= -1:
        return waiting[:0]  # vectors do not affect the context
    estimate = cosine_estimate(question, index, pages)
    if estimate is None:  # no passage has a vector
        return waiting[:ROUND]
    last = _last_admitted(ranking, knobs)
    if last is not None:
        share = cosine_share(question, index, pages, knobs.cosine_weight)
        if _chance_to_enter(ranking, estimate, share, last).sum() < MOST_ENTERING:
            return waiting[:0]
    return waiting[best_first(estimate.mean)[:ROUND]]


def _needs_all(knobs: RankKnobs) -> bool:
    """Check whether words cannot predict the needed vectors."""
    return knobs.strategy is Strategy.COSINE or knobs.diversity > 0


def _last_admitted(ranking: Ranking, knobs: RankKnobs) -> int | None:
    """Return the row that a waiting passage has to beat. None if any passage could enter."""
    rows = ranking.order[:RERANK_DEPTH].tolist() if knobs.rerank else list(ranking.context)
    depth = RERANK_DEPTH if knobs.rerank else knobs.top_k
    return int(rows[-1]) if rows and len(rows) >= depth else None


def _chance_to_enter(ranking: Ranking, estimate: CosineEstimate, share: Scores, last: int) -> Scores:
    """Estimate each waiting passage's chance to beat row `last`.

    The probabilities have the order of the estimate's rows.
    """
    rows, bm25_scores = estimate.rows, ranking.bm25
    assert bm25_scores is not None  # noqa: S101  # a ranking in which words count
    if ranking.fused is None or ranking.cosine is None:
        above: Scores = (bm25_scores[rows] >= bm25_scores[last]).astype(np.float32)
        return above
    place = np.empty(len(share))
    place[best_first(bm25_scores)] = np.arange(1, len(share) + 1)
    by_words = np.where(bm25_scores > 0, 2 * (1 - share) / (RRF_K + place), 0)[rows]
    missing = ranking.fused[last] - by_words
    with np.errstate(divide="ignore"):
        least_rank = 2 * share[rows] / missing - RRF_K
    order = best_first(ranking.cosine)[: len(share) - len(rows)]
    cosine = ranking.cosine[order]
    ranks = np.arange(1, len(order) + 1) + estimate.expected_above(cosine)
    needed = np.interp(least_rank, ranks, cosine, left=np.inf)
    chances = estimate.chance_above(needed.astype(np.float32))
    chances[missing <= 0] = 1
    return chances
