"""Rank the passages for the question, and choose the numbered sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from types import MappingProxyType

import numpy as np
from cachetools import LRUCache, cached
from numpy.typing import NDArray

from core.config.knobs import RankKnobs, Strategy
from core.errors import BadInput
from core.model import GET_TEXTS, Index, Page, Passage, Ranking, Source, context_numbers
from core.run.hit_merging import RRF_K
from core.stages.answering.surroundings import from_its_sentence, surrounded
from core.stages.ranking.bm25 import CACHED_INDEXES, NO_PAGES, bm25
from core.stages.ranking.context_selection import documents_for, exclusion_reasons
from core.stages.ranking.cosine_estimate import cosine_estimate
from core.stages.ranking.mmr import maximal_marginal_relevance
from core.text.language import dominant_language, in_latin_script

RERANK = "rerank"
"""The strategy of a ranking that was ordered by a reranking model."""

Scores = NDArray[np.float32]
Order = NDArray[np.int64]

UNSUPPORTED_LANGUAGE_WEIGHT = 0.05
"""The factor of cosine's weight for a passage in a language that the embedder does not support.

It applies to languages in the Latin alphabet: names and words of common origin still carry meaning. In other scripts
cosine has no weight. Decision 0045 has the figures.
"""


def rank(
    question: str,
    index: Index,
    knobs: RankKnobs,
    pages: Mapping[str, Page] = NO_PAGES,
    *,
    rerank: Scores | None = None,
    reranker: str = "",
) -> Ranking:
    """Rank the passages of an index, best first.

    Equal scores keep the index's order. Cosine is computed if the index has vectors, BM25 if the strategy needs it.
    Without vectors the strategy is bm25, and the ranking says so. `rerank` has the scores of the model `reranker` by
    row. With `knobs.rerank`, rows with such a score come first, in the model's order, and the strategy is rerank. With
    `knobs.diversity` and vectors, the best passages are reordered by `maximal_marginal_relevance`.
    `core.stages.ranking.context_selection` chooses the sources. `pages` has the language of each passage and shows
    which pages have the same text.

    Raises:
        BadInput: when `require_texts` raises it.
    """
    require_texts(index.passages, pages)
    cosine = _cosine(index)
    alone = bm25_only(knobs, cosine)
    bm25_scores = bm25(question, index.passages, pages) if alone or knobs.strategy is Strategy.FUSED else None
    fused = None
    if bm25_scores is not None and cosine is not None and not alone:
        weight = cosine_share(question, index, pages, knobs.cosine_weight)
        fused = fusion(cosine, bm25_scores, weight=weight, above=waiting_above(question, index, pages))
    by_name = (
        (Strategy.FUSED.value, fused),
        (Strategy.BM25.value, bm25_scores),
        (Strategy.COSINE.value, cosine),
    )
    strategy, scores = next((name, values) for name, values in by_name if values is not None)
    order = best_first(scores)
    if rerank is not None and knobs.rerank:
        strategy, scores = RERANK, rerank
        order = _moved_to_front(best_first(rerank)[: np.count_nonzero(~np.isnan(rerank))], order)
    diverse = None
    if knobs.diversity and index.vectors is not None:
        order, diverse = maximal_marginal_relevance(
            order, _relevance(scores, strategy), index.vectors, knobs.diversity
        )
    reasons = exclusion_reasons(
        index.passages,
        order.tolist(),
        knobs,
        embedder=index.embedder,
        cosine=cosine,
        bm25_scores=bm25_scores if alone else None,
        documents=documents_for(pages, knobs),
    )
    context = islice((row for row, reason in reasons if reason is None), knobs.top_k)
    ranking = Ranking(
        order=order,
        context=tuple(context),
        strategy=strategy,
        cosine=cosine,
        bm25=bm25_scores,
        fused=fused,
        rerank=rerank,
        reranker=reranker if rerank is not None else "",
        diverse=diverse,
    )
    order.flags.writeable = False
    for scores in ranking.scores.values():
        scores.flags.writeable = False
    return ranking


def bm25_only(knobs: RankKnobs, cosine: Scores | None) -> bool:
    """Check that the ranking uses BM25 only, by choice or without vectors."""
    return cosine is None or knobs.strategy is Strategy.BM25


def require_texts(passages: Sequence[Passage], pages: Mapping[str, Page]) -> None:
    """Raise `BadInput` if a passage's page lacks its text.

    The text was left out of the run's file and is missing here.
    """
    if _pages_of(passages, pages).lack_text:
        raise BadInput(
            "The texts of the pages were left out of the file of this run, so nothing can be ranked, answered or "
            "compared by them.",
            hint=GET_TEXTS,
        )


def best_first(scores: Scores) -> Order:
    """Sort row numbers by descending score, ties by row. NaN is last."""
    return np.argsort(np.where(np.isnan(scores), np.inf, -scores), kind="stable").astype(np.int64)


def waiting_above(question: str, index: Index, pages: Mapping[str, Page]) -> Scores | None:
    """Estimate how many waiting passages rank above each passage.

    The estimate is for the order by cosine, with a number for each row. None if no passage waits for its vector.
    """
    estimate, cosine = cosine_estimate(question, index, pages), _cosine(index)
    return None if estimate is None or cosine is None else estimate.expected_above(cosine)


def fusion(
    cosine: Scores, bm25_scores: Scores, *, weight: float | Scores = 0.5, above: Scores | None = None
) -> Scores:
    """Fuse the two orders by reciprocal rank fusion.

    The score is the weighted sum of 1 / (60 + rank) over both orders, with ranks from 1. Cosine counts 2 * weight and
    BM25 2 * (1 - weight), so that 0.5 gives the plain sum. The weight may be given by row. A passage without a score in
    one order (not a number, or no word of the question) adds nothing there. `above`, by row, is added to the rank by
    cosine: the expected number of higher passages without a cosine.
    """
    shares = np.broadcast_to(np.asarray(weight, dtype=np.float64), cosine.shape)
    none_above = np.zeros(len(cosine))
    fused = np.zeros(len(cosine), dtype=np.float64)
    for scores, ranked, share, unseen in (
        (cosine, ~np.isnan(cosine), shares, none_above if above is None else above),
        (bm25_scores, bm25_scores > 0, 1 - shares, none_above),
    ):
        order = best_first(scores)
        order = order[ranked[order]]
        fused[order] += 2 * share[order] / (RRF_K + np.arange(1, len(order) + 1) + unseen[order])
    return fused.astype(np.float32)


def cosine_share(question: str, index: Index, pages: Mapping[str, Page], weight: float) -> Scores:
    """Return cosine's weight in the fusion by passage, from 0 to 1.

    If the embedder states its languages, a passage in an unsupported language has `UNSUPPORTED_LANGUAGE_WEIGHT` of the
    weight, or 0. A passage in another language than the question has 1 if both are supported, since words do not match
    across languages. All others have the weight itself. An unknown language is assumed to be the other's.
    """
    if not index.embedder_languages:
        return np.full(len(index.passages), weight, dtype=np.float32)
    question_language = dominant_language([question])
    of_passages = _pages_of(index.passages, pages)
    shares = [
        _share(language, question_language, index.embedder_languages, weight)
        for language in of_passages.languages
    ]
    return np.array(shares, dtype=np.float32)[of_passages.language_of]


def _share(language: str, question_language: str, supported: Sequence[str], weight: float) -> float:
    """Return cosine's weight for one language of a passage."""
    language = language or question_language
    if language and language not in supported:
        return weight * UNSUPPORTED_LANGUAGE_WEIGHT if in_latin_script(language) else 0.0
    return 1.0 if question_language in supported and language != question_language else weight


@dataclass(frozen=True, slots=True)
class _PagesOf:
    """The data of the pages that a ranking needs, shared by settings and questions."""

    languages: Sequence[str]
    """ISO 639-1 codes, "" if unknown."""
    language_of: NDArray[np.intp]
    """The index in `languages` of each passage's language, by row."""
    lack_text: bool
    """Whether the text of a page was left out of a file."""
    passages: Sequence[Passage]
    pages: Mapping[str, Page]
    """The passages and pages of this data. A cached entry keeps them alive, so that their `id` is not reused."""


@cached(LRUCache(CACHED_INDEXES), key=lambda passages, pages: (id(passages), id(pages)), lock=Lock())
def _pages_of(passages: Sequence[Passage], pages: Mapping[str, Page]) -> _PagesOf:
    codes = {key: page.article.language.lower()[:2] for key, page in pages.items()}
    languages = list(dict.fromkeys(["", *codes.values()]))
    number = {key: languages.index(code) for key, code in codes.items()}
    keys = [passage.place.page for passage in passages]
    lacking = {key for key, page in pages.items() if page.lacks_text}
    return _PagesOf(
        languages=languages,
        language_of=np.array([number.get(key, 0) for key in keys], dtype=np.intp),
        lack_text=not lacking.isdisjoint(keys),
        passages=passages,
        pages=pages,
    )


def sources(
    ranking: Ranking,
    index: Index,
    pages: Mapping[str, Page],
    knobs: RankKnobs,
    taken: Mapping[str, int] = MappingProxyType({}),
) -> tuple[Source, ...]:
    """Number the context's passages as sources.

    Sources have their pages' titles and addresses and the text around the passages. A source begins with a whole
    sentence, even if an overlap cuts the passage's first. `taken` are the source numbers of earlier turns, as in
    `context_numbers`.
    """
    numbers = context_numbers(ranking, index, taken).values()
    chosen = [index.passages[row] for row in ranking.context]
    texts = {passage.place.page: pages[passage.place.page].text for passage in chosen}
    reached = surrounded([passage.place for passage in chosen], texts, knobs.surroundings)
    context_places = [from_its_sentence(place, texts[place.page]) for place in reached]
    return tuple(
        Source(
            number=number,
            passage=passage,
            title=(page := pages[passage.place.page]).title,
            url=page.url,
            site=page.article.site,
            before=page.text[place.start : passage.place.start],
            after=page.text[passage.place.end : place.end],
            snippet_only=page.snippet_only,
        )
        for number, passage, place in zip(numbers, chosen, context_places, strict=True)
    )


def _cosine(index: Index) -> Scores | None:
    if index.vectors is None or index.question is None:
        return None
    # One dot product a row, on this thread: BLAS threads stall for 20 ms on a busy machine.
    scores: Scores = np.clip(np.vecdot(index.vectors, index.question), -1, 1)
    return scores


def _moved_to_front(first: Order, order: Order) -> Order:
    """Move the `first` rows to the front of the order."""
    return np.concatenate([first, order[~np.isin(order, first)]])


def _relevance(scores: Scores, strategy: str) -> Scores:
    """Rescale scores to 0 to 1, to be comparable with cosines. Cosines are unchanged."""
    if strategy == Strategy.COSINE or not len(scores):
        return scores
    low = float(np.nanmin(scores)) if strategy == RERANK else 0.0
    return (scores - low) / max(float(np.nanmax(scores)) - low, 1e-12)
