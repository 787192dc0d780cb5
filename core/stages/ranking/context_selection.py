"""Context selection: which ranked passages become numbered sources, and why each of the others does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import tee
from math import isnan
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.config.knobs import RankKnobs
from core.model import Page, Passage
from core.stages.ranking.calibration import calibration_of
from core.text.domains import domains, within

Scores = NDArray[np.float32]

NO_DOCUMENTS: Mapping[str, str] = MappingProxyType({})

PER_PAGE = 3
"""Passages of one page in the context where no limit is set and other pages have enough of them."""


class ExclusionReason(StrEnum):
    """Why a ranked passage is not in the context."""

    EXCLUDED = "page excluded"
    DOMAIN = "site excluded"
    SHORT = "shorter than the shortest passage"
    NO_VECTOR = "no vector yet"
    THRESHOLD = "below the minimum cosine or similarity"
    NO_WORD = "no word of the question"
    CUT = "ranked below the cut-off"
    PAGE_FULL = "limit per page reached"
    DOCUMENTS_FULL = "limit of documents reached"
    CLUSTER_FULL = "limit per duplicate group reached"


def exclusion_reasons(
    passages: Sequence[Passage],
    order: Sequence[int],
    knobs: RankKnobs,
    *,
    embedder: str = "",
    cosine: Scores | None,
    bm25_scores: Scores | None,
    clusters: Mapping[str, int],
    documents: Mapping[str, str] = NO_DOCUMENTS,
) -> Iterator[tuple[int, ExclusionReason | None]]:
    """Each row of `order`, best first, with the reason why it is left out, or None when it becomes the next source.

    `cosine` and `bm25_scores` (given where BM25 alone ranks) are scores by row; `embedder` is the identity of
    the model behind the cosines. `clusters` maps page keys to the cluster of pages with nearly the same text,
    `documents` to their documents; a page that is not in it is a cluster or a document of its own.
    """
    reason_of = _unfit(
        passages, knobs, least=least_cosine(embedder, knobs), cosine=cosine, bm25_scores=bm25_scores
    )

    def groups(row: int) -> PassageGroups:
        page = passages[row].place.page
        return PassageGroups(page, clusters.get(page, page), documents.get(page, page))

    first, again = tee((row, reason_of(row)) for row in order)  # mostly a few of thousands are looked at
    budget = ContextBudget(knobs, page_limit((groups(row) for row, reason in first if not reason), knobs))
    for row, reason in again:
        yield row, reason or budget.admit(groups(row))


def documents_for(pages: Mapping[str, Page], knobs: RankKnobs) -> Mapping[str, str]:
    """The documents by page key that ranking needs; empty unless the knobs limit them."""
    return {key: page.document for key, page in pages.items()} if knobs.max_documents else NO_DOCUMENTS


class PassageGroups(NamedTuple):
    """The groups that a passage counts in."""

    page: str
    cluster: str | int
    document: str


class ContextBudget:
    """The limits of the context, and what passages use of them while it is filled from the best one down."""

    def __init__(self, knobs: RankKnobs, per_page: int) -> None:
        self._knobs = knobs
        self._per_page = per_page
        self._of_page = Counter[str]()
        self._of_cluster = Counter[str | int]()
        self._documents: set[str] = set()
        self.used = 0

    def admit(self, groups: PassageGroups) -> ExclusionReason | None:
        """Admit a passage to the context and return None, or return why it does not fit."""
        if self.used == self._knobs.top_k:
            return ExclusionReason.CUT
        if self._per_page and self._of_page[groups.page] == self._per_page:
            return ExclusionReason.PAGE_FULL
        if self._knobs.per_cluster and self._of_cluster[groups.cluster] == self._knobs.per_cluster:
            return ExclusionReason.CLUSTER_FULL
        most = self._knobs.max_documents
        if most and groups.document not in self._documents and len(self._documents) == most:
            return ExclusionReason.DOCUMENTS_FULL
        self.used += 1
        self._of_page[groups.page] += 1
        self._of_cluster[groups.cluster] += 1
        self._documents.add(groups.document)
        return None


def least_cosine(embedder: str, knobs: RankKnobs) -> float:
    """The lowest cosine that the knobs let into the context; -1 lets in every one."""
    return max(knobs.threshold, calibration_of(embedder).cosine(knobs.min_similarity))


def _unfit(
    passages: Sequence[Passage],
    knobs: RankKnobs,
    *,
    least: float,
    cosine: Scores | None,
    bm25_scores: Scores | None,
) -> Callable[[int], ExclusionReason | None]:
    """Return a function that gives the reason why a row cannot become a source, or None."""
    allowed, refused = domains(knobs.only_domains), domains(knobs.without_domains)
    excluded = frozenset(knobs.excluded)
    # Where words alone decide, a passage needs no vector.
    by_words_alone = bm25_scores is not None and least <= -1
    cosines = None if cosine is None or by_words_alone else cosine.astype(np.float64).tolist()
    has_word = None if bm25_scores is None else (bm25_scores > 0).tolist()

    def reason(row: int) -> ExclusionReason | None:
        page = passages[row].place.page
        if page in excluded:
            return ExclusionReason.EXCLUDED
        if (allowed and not within(page, allowed)) or (refused and within(page, refused)):
            return ExclusionReason.DOMAIN
        if knobs.min_characters and len(passages[row].text.strip()) < knobs.min_characters:
            return ExclusionReason.SHORT
        if cosines and not cosines[row] >= least:
            return ExclusionReason.NO_VECTOR if isnan(cosines[row]) else ExclusionReason.THRESHOLD
        return ExclusionReason.NO_WORD if has_word and not has_word[row] else None

    return reason


def page_limit(fit: Iterable[PassageGroups], knobs: RankKnobs) -> int:
    """How many passages of one page may become sources; 0: any number.

    `fit` are the passages that may become one, best first. A limit that is set is kept. The automatic one is
    `PER_PAGE`, or where that leaves room in the context, the lowest that fills it.
    """
    if knobs.per_page >= 0:
        return knobs.per_page
    within_top_k: list[PassageGroups] = []
    of_page = Counter[str]()
    budget = ContextBudget(knobs, PER_PAGE)
    for groups in fit:
        budget.admit(groups)
        if budget.used == knobs.top_k:
            return PER_PAGE
        of_page[groups.page] += 1
        if of_page[groups.page] <= knobs.top_k:  # no limit lets in more of a page than the context takes
            within_top_k.append(groups)
    most = max(PER_PAGE, knobs.top_k)
    most_passages = _let_in(within_top_k, most, knobs)
    return next(
        limit for limit in range(PER_PAGE, most + 1) if _let_in(within_top_k, limit, knobs) >= most_passages
    )


def _let_in(fit: Iterable[PassageGroups], per_page: int, knobs: RankKnobs) -> int:
    """How many passages the context has with this limit per page."""
    budget = ContextBudget(knobs, per_page)
    for groups in fit:
        if budget.admit(groups) is ExclusionReason.CUT:
            break
    return budget.used
