"""Select the ranked passages that become sources, with a reason for each exclusion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import tee
from math import isnan
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.config.knobs import RankKnobs
from core.model import Page, Passage
from core.stages.ranking.calibration import calibration_of
from core.stages.ranking.near_duplicates import repeats, shingles
from core.text.urls import site_filter

Scores = NDArray[np.float32]

NO_DOCUMENTS: Mapping[str, str] = MappingProxyType({})

PER_PAGE = 3
"""The default maximum of passages per page if other pages have enough passages."""


class ExclusionReason(StrEnum):
    """The reason why a ranked passage is not in the context."""

    EXCLUDED = "page excluded"
    DOMAIN = "site excluded"
    SHORT = "shorter than the shortest passage"
    NO_VECTOR = "no vector yet"
    THRESHOLD = "below the minimum cosine or similarity"
    NO_WORD = "no word of the question"
    CUT = "ranked below the cut-off"
    PAGE_FULL = "limit per page reached"
    DOCUMENTS_FULL = "limit of documents reached"
    COPY = "nearly the same text as a source"


def exclusion_reasons(
    passages: Sequence[Passage],
    order: Sequence[int],
    knobs: RankKnobs,
    *,
    embedder: str = "",
    cosine: Scores | None,
    bm25_scores: Scores | None,
    documents: Mapping[str, str] = NO_DOCUMENTS,
) -> Iterator[tuple[int, ExclusionReason | None]]:
    """Yield each row with its exclusion reason, or None.

    The rows have the order of `order`, best first. None means that the row becomes the next source. `cosine` and
    `bm25_scores` are scores by row; `bm25_scores` are given if BM25 alone ranks. `embedder` is the identity of the
    model behind the cosines. `documents` maps page keys to documents. A page without an entry is its own document.
    """
    reason_of = _unfit(
        passages, knobs, least=least_cosine(embedder, knobs), cosine=cosine, bm25_scores=bm25_scores
    )

    def candidate(row: int) -> Candidate:
        page = passages[row].place.page
        return Candidate(page, documents.get(page, page), passages[row].text)

    first, again = tee((row, reason_of(row)) for row in order)  # usually only a few of thousands are read
    budget = ContextBudget(knobs, page_limit((candidate(row) for row, reason in first if not reason), knobs))
    for row, reason in again:
        yield row, reason or budget.admit(candidate(row))


def documents_for(pages: Mapping[str, Page], knobs: RankKnobs) -> Mapping[str, str]:
    """Map page keys to documents, if the knobs limit documents."""
    return {key: page.document for key, page in pages.items()} if knobs.max_documents else NO_DOCUMENTS


class Candidate(NamedTuple):
    """A passage that may become a source, with what it counts in."""

    page: str
    document: str
    text: str


class ContextBudget:
    """The limits of the context, and their use by the admitted passages. Passages are admitted best first."""

    def __init__(self, knobs: RankKnobs, per_page: int) -> None:
        self._knobs = knobs
        self._per_page = per_page
        self._admitted: list[Candidate] = []
        self._of_page = Counter[str]()
        self._documents: set[str] = set()

    @property
    def used(self) -> int:
        """The number of admitted passages."""
        return len(self._admitted)

    def admit(self, candidate: Candidate) -> ExclusionReason | None:
        """Admit a passage, or return the reason for its exclusion."""
        if self.used == self._knobs.top_k:
            return ExclusionReason.CUT
        if self._per_page and self._of_page[candidate.page] == self._per_page:
            return ExclusionReason.PAGE_FULL
        most = self._knobs.max_documents
        if most and candidate.document not in self._documents and len(self._documents) == most:
            return ExclusionReason.DOCUMENTS_FULL
        if 0 < self._knobs.per_cluster <= self._repeated_by(candidate):
            return ExclusionReason.COPY
        self._admitted.append(candidate)
        self._of_page[candidate.page] += 1
        self._documents.add(candidate.document)
        return None

    def _repeated_by(self, candidate: Candidate) -> int:
        """Count the admitted passages of other pages that a passage repeats."""
        others = [other.text for other in self._admitted if other.page != candidate.page]
        return sum(repeats(_shingles(candidate.text), _shingles(text)) for text in others)


_shingles = lru_cache(maxsize=500)(shingles)
"""The shingles of the passages that were compared last: a knob is turned on the same passages."""


def least_cosine(embedder: str, knobs: RankKnobs) -> float:
    """Return the minimum cosine that the knobs admit. -1 admits all."""
    return max(knobs.threshold, calibration_of(embedder).cosine(knobs.min_similarity))


def _unfit(
    passages: Sequence[Passage],
    knobs: RankKnobs,
    *,
    least: float,
    cosine: Scores | None,
    bm25_scores: Scores | None,
) -> Callable[[int], ExclusionReason | None]:
    """Return a function from rows to exclusion reasons, or None."""
    fits_sites = site_filter(knobs.only_domains, knobs.without_domains)
    excluded = frozenset(knobs.excluded)
    # If words alone decide, a passage needs no vector.
    by_words_alone = bm25_scores is not None and least <= -1
    cosines = None if cosine is None or by_words_alone else cosine.astype(np.float64).tolist()
    has_word = None if bm25_scores is None else (bm25_scores > 0).tolist()

    def reason(row: int) -> ExclusionReason | None:
        page = passages[row].place.page
        if page in excluded:
            return ExclusionReason.EXCLUDED
        if not fits_sites(page):
            return ExclusionReason.DOMAIN
        if knobs.min_characters and len(passages[row].text.strip()) < knobs.min_characters:
            return ExclusionReason.SHORT
        if cosines and not cosines[row] >= least:
            return ExclusionReason.NO_VECTOR if isnan(cosines[row]) else ExclusionReason.THRESHOLD
        return ExclusionReason.NO_WORD if has_word and not has_word[row] else None

    return reason


def page_limit(fit: Iterable[Candidate], knobs: RankKnobs) -> int:
    """Limit the number of sources per page. 0 means no limit.

    `fit` are the passages that may become sources, best first. A limit that is set is used. The automatic limit is
    `PER_PAGE`, or if that does not fill the context, the lowest limit with the most passages.
    """
    if knobs.per_page >= 0:
        return knobs.per_page
    within_top_k: list[Candidate] = []
    of_page = Counter[str]()
    budget = ContextBudget(knobs, PER_PAGE)
    for candidate in fit:
        reason = budget.admit(candidate)
        if budget.used == knobs.top_k:
            return PER_PAGE
        if reason is ExclusionReason.COPY:
            continue
        of_page[candidate.page] += 1
        if of_page[candidate.page] <= knobs.top_k:  # a higher limit cannot admit more than the context holds
            within_top_k.append(candidate)
    most = max(PER_PAGE, knobs.top_k)
    most_passages = _let_in(within_top_k, most, knobs)
    return next(
        limit for limit in range(PER_PAGE, most + 1) if _let_in(within_top_k, limit, knobs) >= most_passages
    )


def _let_in(fit: Iterable[Candidate], per_page: int, knobs: RankKnobs) -> int:
    """Count the context's passages with this limit per page."""
    budget = ContextBudget(knobs, per_page)
    for candidate in fit:
        if budget.admit(candidate) is ExclusionReason.CUT:
            break
    return budget.used
