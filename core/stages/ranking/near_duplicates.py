"""Find pages and passages with nearly the same text."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from zlib import crc32

from core.model import Page, Passage
from core.text.bm25_index import tokens

SHINGLE = 5
"""Words (in scripts without spaces, pairs of characters) in a shingle, after Broder (1997)."""

SAME = 0.6
"""The share of a text's shingles in another text from which it repeats the other."""

_FEWEST = 8
"""The number of shingles below which a text repeats only a text that has them all."""


def clusters(pages: Iterable[Page]) -> dict[str, int]:
    """Map each page's key to a cluster number.

    The order of the pages does not matter. The longest text founds the first cluster. Each shorter text joins the
    founder with the most of its shingles if they are at least `SAME` of them, and else founds a new cluster. Only pages
    with shared shingles are compared, so the work grows with the text.
    """
    return dict(_clusters(tuple(sorted((page.key, page.text) for page in pages))))


def shingles(text: str) -> frozenset[int]:
    """Hash the text's shingles to 32-bit checksums. A short text is one shingle. A text without words has none."""
    words = tokens(text)
    runs = (words[start : start + SHINGLE] for start in range(max(len(words) - SHINGLE + 1, bool(words))))
    return frozenset(crc32(" ".join(run).encode("utf-8", "surrogatepass")) for run in runs)


def copies(passages: Sequence[Passage]) -> dict[int, list[int]]:
    """Map each row to the rows of other pages that its passage repeats. Rows that repeat none are left out.

    Only passages with shared shingles are compared, so the work grows with the text.
    """
    shingled = [shingles(passage.text) for passage in passages]
    rows_with: dict[int, list[int]] = {}
    for row, own in enumerate(shingled):
        for shingle in own:
            rows_with.setdefault(shingle, []).append(row)
    repeated: dict[int, list[int]] = {}
    for row, own in enumerate(shingled):
        page = passages[row].place.page
        found_again = (rows_with[shingle] for shingle in own if len(rows_with[shingle]) > 1)
        shared = Counter(other for rows in found_again for other in rows)
        others = [
            other
            for other, count in sorted(shared.items())
            if passages[other].place.page != page and count >= _shared_by_copies(own)
        ]
        if others:
            repeated[row] = others
    return repeated


def repeats(own: frozenset[int], other: frozenset[int]) -> bool:
    """Return whether a text repeats another, by their shingles."""
    return bool(own) and len(own & other) >= _shared_by_copies(own)


def _shared_by_copies(own: frozenset[int]) -> float:
    """Return the least number of shingles that a text shares with a text that it repeats."""
    return len(own) * (SAME if len(own) >= _FEWEST else 1.0)


@lru_cache(maxsize=4)
def _clusters(pages: tuple[tuple[str, str], ...]) -> Mapping[str, int]:
    founders: dict[int, list[int]] = {}
    cluster_of: dict[str, int] = {}
    ranked = sorted(((shingles(text), key) for key, text in pages), key=lambda item: (-len(item[0]), item[1]))
    number = 0
    for own, key in ranked:
        shared = Counter(founder for shingle in own for founder in founders.get(shingle, ()))
        best, count = max(shared.items(), key=lambda item: (item[1], -item[0]), default=(number, 0))
        if own and count >= _shared_by_copies(own):
            cluster_of[key] = best
            continue
        for shingle in own:
            founders.setdefault(shingle, []).append(number)
        cluster_of[key] = number
        number += 1
    return cluster_of
