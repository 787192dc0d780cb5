"""Context selection: which ranked passages become numbered sources, and why each of the others does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from core.config.knobs import RankKnobs
from core.model import Passage
from core.stages.calibration import calibration_of

Scores = NDArray[np.float32]


PER_PAGE = 3
"""Passages of one page in the context where no limit is set and other pages have enough of them."""


class ExclusionReason(StrEnum):
    """Why a ranked passage is not in the context."""

    EXCLUDED = "page excluded"
    DOMAIN = "site excluded"
    SHORT = "shorter than the shortest passage"
    THRESHOLD = "below the minimum cosine or similarity"
    NO_WORD = "no word of the question"
    CUT = "ranked below the cut-off"
    PAGE_FULL = "limit per page reached"
    CLUSTER_FULL = "limit per duplicate group reached"


def select_context(
    passages: Sequence[Passage],
    order: Sequence[int],
    knobs: RankKnobs,
    *,
    embedder: str = "",
    cosine: Scores | None,
    words: Scores | None,
    clusters: Mapping[str, int],
) -> tuple[int, ...]:
    """The rows that become sources, best first: what `verdicts` lets in, and nothing behind the last of them."""
    chosen: list[int] = []
    decided = verdicts(
        passages, order, knobs, embedder=embedder, cosine=cosine, words=words, clusters=clusters
    )
    for row, reason in decided:
        if reason is None:
            chosen.append(row)
        if len(chosen) == knobs.top_k:
            break
    return tuple(chosen)


def verdicts(
    passages: Sequence[Passage],
    order: Sequence[int],
    knobs: RankKnobs,
    *,
    embedder: str = "",
    cosine: Scores | None,
    words: Scores | None,
    clusters: Mapping[str, int],
) -> Iterator[tuple[int, ExclusionReason | None]]:
    """Each row of `order` with the reason why it is left out, or None when it becomes the next source.

    `cosine` and `words` (given where words alone rank) are scores by row; `embedder` is the identity of
    the model behind the cosines. `clusters` maps page keys to the cluster of pages with nearly the same text;
    a page that is not in it is a cluster of its own.
    """
    places = [(row, page := passages[row].place.page, clusters.get(page, page)) for row in order]
    least = least_cosine(embedder, knobs)
    unfit = _unfit(passages, places, knobs, least=least, cosine=cosine, words=words)
    fit = [(page, cluster) for row, page, cluster in places if unfit[row] is None]
    per_page = page_limit(fit, knobs)
    of_page, of_cluster = Counter[str](), Counter[str | int]()
    taken = 0
    for row, page, cluster in places:
        reason = unfit[row]
        if reason is not None:
            pass
        elif taken == knobs.top_k:
            reason = ExclusionReason.CUT
        elif per_page and of_page[page] == per_page:
            reason = ExclusionReason.PAGE_FULL
        elif knobs.per_cluster and of_cluster[cluster] == knobs.per_cluster:
            reason = ExclusionReason.CLUSTER_FULL
        else:
            taken += 1
            of_page[page] += 1
            of_cluster[cluster] += 1
        yield row, reason


def least_cosine(embedder: str, knobs: RankKnobs) -> float:
    """The lowest cosine that the knobs let into the context; -1 lets in every one."""
    return max(knobs.threshold, calibration_of(embedder).cosine(knobs.min_similarity))


def _unfit(
    passages: Sequence[Passage],
    places: Iterable[tuple[int, str, str | int]],
    knobs: RankKnobs,
    *,
    least: float,
    cosine: Scores | None,
    words: Scores | None,
) -> dict[int, ExclusionReason | None]:
    """Why a row cannot become a source, however few there are; None for one that can."""
    allowed, refused = domains(knobs.only_domains), domains(knobs.without_domains)
    excluded = frozenset(knobs.excluded)

    def reason(row: int, page: str) -> ExclusionReason | None:
        if page in excluded:
            return ExclusionReason.EXCLUDED
        if (allowed and not within(page, allowed)) or (refused and within(page, refused)):
            return ExclusionReason.DOMAIN
        if len(passages[row].text.strip()) < knobs.min_characters:
            return ExclusionReason.SHORT
        if cosine is not None and not float(cosine[row]) >= least:
            return ExclusionReason.THRESHOLD
        return ExclusionReason.NO_WORD if words is not None and not words[row] > 0 else None

    return {row: reason(row, page) for row, page, _ in places}


def page_limit(fit: Sequence[tuple[str, str | int]], knobs: RankKnobs) -> int:
    """How many passages of one page may become sources; 0: any number.

    `fit` has the page and the cluster of each passage that may become one. A limit that is set is kept. The
    automatic one is `PER_PAGE`, or where that leaves room in the context, the lowest that fills it.
    """
    if knobs.per_page >= 0:
        return knobs.per_page
    of_cluster: dict[str | int, Counter[str]] = {}
    for page, cluster in fit:
        of_cluster.setdefault(cluster, Counter())[page] += 1
    wanted = min(knobs.top_k, _let_in(of_cluster, knobs.top_k, knobs))
    return next(
        limit
        for limit in range(PER_PAGE, max(PER_PAGE, knobs.top_k) + 1)
        if _let_in(of_cluster, limit, knobs) >= wanted
    )


def _let_in(of_cluster: Mapping[str | int, Counter[str]], per_page: int, knobs: RankKnobs) -> int:
    """How many passages the limits of pages and clusters let in."""
    counts = (sum(min(count, per_page) for count in pages.values()) for pages in of_cluster.values())
    return sum(min(count, knobs.per_cluster or count) for count in counts)


@lru_cache(maxsize=64)
def domains(text: str) -> frozenset[str]:
    """The domains of a list that a person typed: separated by commas or blanks, addresses and `*.` understood."""
    names = (name.lower() for name in text.replace(",", " ").split())
    hosts = (name.partition("://")[2] or name for name in names)
    bare = (host.partition("/")[0].partition(":")[0].removeprefix("*") for host in hosts)
    return frozenset(name for host in bare if (name := host.strip(".").removeprefix("www.")))


@lru_cache(maxsize=4096)
def within(url: str, rules: frozenset[str]) -> bool:
    """Whether the address's host is one of the domains or below one of them."""
    try:
        labels = (urlsplit(url).hostname or "").rstrip(".").split(".")
    except ValueError:
        return False
    return any(".".join(labels[at:]) in rules for at in range(len(labels)))
