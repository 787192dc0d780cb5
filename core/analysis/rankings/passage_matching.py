"""Matching of passages between two chunkings or two states of the same pages."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import attrgetter

from core.model import Passage
from core.text.sanitize import single_spaced
from core.text.tokenization import words

MIN_OVERLAP = 0.5
"""The minimum share of the shorter passage that two matching passages have in common."""
MIN_SIMILARITY = 0.5
"""The minimum Sørensen–Dice coefficient of the word pairs of two matching passages."""
MOST_SHARED = 20
"""A word pair that more passages of a page have tells none of them from the others, and is left out."""

WordPair = tuple[str, str]


def match_passages(before: Sequence[Passage], after: Sequence[Passage]) -> dict[int, int]:
    """Match the passages of two indexes: rows of `after` by rows of `before`, each at most once.

    The same text at the same place is matched first, then equal texts (so runs over other addresses compare too),
    then, page by page, the pairs that share the most characters at the same place of the page, then those of the
    most similar wording.
    """
    if before is after:
        return {row: row for row in range(len(before))}
    pairs: dict[int, int] = {}
    names: tuple[Callable[[Passage], object], ...] = (
        attrgetter("id", "text"),
        lambda passage: single_spaced(passage.text),
    )
    for name in names:
        matched = set(pairs.values())
        free = {name(passage): row for row, passage in enumerate(after) if row not in matched}
        for row, passage in enumerate(before):
            if row not in pairs and (other := free.pop(name(passage), None)) is not None:
                pairs[row] = other
    for shared in (_overlaps, _similarities):
        _add_best(pairs, shared(*_unmatched(before, after, pairs)))
    return pairs


Rows = dict[int, Passage]


def _unmatched(
    before: Sequence[Passage], after: Sequence[Passage], pairs: dict[int, int]
) -> tuple[Rows, Rows]:
    matched = set(pairs.values())
    return (
        {row: passage for row, passage in enumerate(before) if row not in pairs},
        {row: passage for row, passage in enumerate(after) if row not in matched},
    )


def _add_best(pairs: dict[int, int], shared: Sequence[tuple[float, int, int]]) -> None:
    """Add pairs of rows, those that share the most first."""
    used: set[int] = set()
    for _, row, other in sorted((-share, row, other) for share, row, other in shared):
        if row not in pairs and other not in used:
            pairs[row] = other
            used.add(other)


def _overlaps(before: Rows, after: Rows) -> list[tuple[float, int, int]]:
    """(shared characters, row, other row) for pairs at the same place of a page that share enough of the same text."""
    places = _by_page(after)
    return [
        shared
        for page, rows in _by_page(before).items()
        for shared in _overlaps_of_page(rows, places.get(page, []))
    ]


def _by_page(rows: Rows) -> dict[str, list[tuple[int, Passage]]]:
    pages: dict[str, list[tuple[int, Passage]]] = {}
    for row, passage in sorted(rows.items(), key=lambda item: (item[1].place.start, item[1].place.end)):
        pages.setdefault(passage.place.page, []).append((row, passage))
    return pages


def _overlaps_of_page(
    before: Sequence[tuple[int, Passage]], after: Sequence[tuple[int, Passage]]
) -> list[tuple[float, int, int]]:
    """Both lists are sorted by start."""
    overlaps: list[tuple[float, int, int]] = []
    first = 0
    for row, passage in before:
        place = passage.place
        while first < len(after) and after[first][1].place.end <= place.start:
            first += 1
        for other, theirs in after[first:]:
            if theirs.place.start >= place.end:
                break
            start, end = max(place.start, theirs.place.start), min(place.end, theirs.place.end)
            shorter = min(place.end - place.start, theirs.place.end - theirs.place.start)
            if end - start >= MIN_OVERLAP * shorter and _slice(passage, start, end) == _slice(
                theirs, start, end
            ):
                overlaps.append((end - start, row, other))
    return overlaps


def _slice(passage: Passage, start: int, end: int) -> str:
    """A part of the passage, by its offsets in the page."""
    return passage.text[start - passage.place.start : end - passage.place.start]


def _similarities(before: Rows, after: Rows) -> list[tuple[float, int, int]]:
    """(similarity, row, other row) for pairs of a page whose wording is similar enough."""
    if not before or not after:
        return []
    holders: dict[tuple[str, WordPair], list[int]] = defaultdict(list)
    for other, passage in after.items():
        for pair in _word_pairs(passage):
            holders[passage.place.page, pair].append(other)
    common = {name for name, rows in holders.items() if len(rows) > MOST_SHARED}
    sizes = Counter(other for name, rows in holders.items() if name not in common for other in rows)
    similar = []
    for row, passage in before.items():
        names = {(passage.place.page, pair) for pair in _word_pairs(passage)} - common
        shared = Counter(other for name in names for other in holders.get(name, ()))
        similar += [(2 * count / (len(names) + sizes[other]), row, other) for other, count in shared.items()]
    return [pair for pair in similar if pair[0] >= MIN_SIMILARITY]


def _word_pairs(passage: Passage) -> set[WordPair]:
    return set(pairwise(("", *words(passage.text), "")))
