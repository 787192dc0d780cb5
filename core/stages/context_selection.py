"""Context selection: which ranked passages become numbered sources, and why each of the others does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from core.config.knobs import RankKnobs
from core.model import Passage

Scores = NDArray[np.float32]


class ExclusionReason(StrEnum):
    """Why a ranked passage is not in the context."""

    EXCLUDED = "page excluded"
    DOMAIN = "site excluded"
    SHORT = "shorter than the shortest passage"
    THRESHOLD = "below the minimum cosine"
    NO_WORD = "no word of the question"
    CUT = "ranked below the cut-off"
    PAGE_FULL = "limit per page reached"
    CLUSTER_FULL = "limit per duplicate group reached"


def select_context(
    passages: Sequence[Passage],
    order: Sequence[int],
    knobs: RankKnobs,
    *,
    cosine: Scores | None,
    words: Scores | None,
    clusters: Mapping[str, int],
) -> tuple[int, ...]:
    """The rows that become sources, best first: what `verdicts` lets in, and nothing behind the last of them."""
    chosen: list[int] = []
    for row, reason in verdicts(passages, order, knobs, cosine=cosine, words=words, clusters=clusters):
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
    cosine: Scores | None,
    words: Scores | None,
    clusters: Mapping[str, int],
) -> Iterator[tuple[int, ExclusionReason | None]]:
    """Each row of `order` with the reason why it is left out, or None when it becomes the next source.

    `cosine` and `words` (given where words alone rank) are scores by row. `clusters` maps page keys to the
    cluster of pages with nearly the same text; a page that is not in it is a cluster of its own.
    """
    allowed, refused = domains(knobs.only_domains), domains(knobs.without_domains)
    excluded = frozenset(knobs.excluded)
    of_page, of_cluster = Counter[str](), Counter[str | int]()
    taken = 0
    for row in order:
        page = passages[row].place.page
        cluster = clusters.get(page, page)
        reason = None
        if page in excluded:
            reason = ExclusionReason.EXCLUDED
        elif (allowed and not within(page, allowed)) or (refused and within(page, refused)):
            reason = ExclusionReason.DOMAIN
        elif len(passages[row].text.strip()) < knobs.min_characters:
            reason = ExclusionReason.SHORT
        elif cosine is not None and not cosine[row] >= knobs.threshold:
            reason = ExclusionReason.THRESHOLD
        elif words is not None and not words[row] > 0:
            reason = ExclusionReason.NO_WORD
        elif taken == knobs.top_k:
            reason = ExclusionReason.CUT
        elif knobs.per_page and of_page[page] == knobs.per_page:
            reason = ExclusionReason.PAGE_FULL
        elif knobs.per_cluster and of_cluster[cluster] == knobs.per_cluster:
            reason = ExclusionReason.CLUSTER_FULL
        else:
            taken += 1
            of_page[page] += 1
            of_cluster[cluster] += 1
        yield row, reason


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
