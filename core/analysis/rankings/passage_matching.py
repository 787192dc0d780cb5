"""Matching of passages between two chunkings, or two states of the same pages."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from core.model import Passage, is_left_out
from core.text.sanitize import single_spaced
from core.text.tokenization import words

MIN_OVERLAP = 0.5
"""The minimum overlap of two matching passages, as a share of the shorter."""
MIN_SIMILARITY = 0.5
"""The minimum Sørensen–Dice coefficient of the word pairs of two matching passages."""
MOST_SHARED = 20
"""The most passages of a page with the same word pair. More common pairs are ignored."""

WordPair = tuple[str, str]


def match_passages(before: Sequence[Passage], after: Sequence[Passage]) -> dict[int, int]:
    """Match the rows of two indexes, `before` to `after`, each at most once.

    Equal texts at the same range match first, then equal texts, so runs over other addresses compare too. Then, page by
    page, the pairs with the largest overlap match, then the pairs with the most similar wording. A passage whose text
    was left out of a file matches by its range alone.
    """
    if before is after:
        return {row: row for row in range(len(before))}
    pairs: dict[int, int] = {}
    for shared in (_same_ranges, _same_texts, _overlaps, _similarities):
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
    """Add pairs of rows, the largest share first."""
    used: set[int] = set()
    for _, row, other in sorted((-share, row, other) for share, row, other in shared):
        if row not in pairs and other not in used:
            pairs[row] = other
            used.add(other)


def _same_ranges(before: Rows, after: Rows) -> list[tuple[float, int, int]]:
    """Return the pairs at the same range of a page with equal texts, or with one left out."""
    others = {passage.id: (row, passage) for row, passage in after.items()}
    return [
        (1, row, others[passage.id][0])
        for row, passage in before.items()
        if passage.id in others and _equal(passage.text, others[passage.id][1].text)
    ]


def _equal(text: str, other: str) -> bool:
    return text == other or is_left_out(text) or is_left_out(other)


def _same_texts(before: Rows, after: Rows) -> list[tuple[float, int, int]]:
    """Return the pairs with equal texts at any place."""
    others = {single_spaced(passage.text): row for row, passage in after.items()}
    return [
        (1, row, others[text])
        for row, passage in before.items()
        if (text := single_spaced(passage.text)) in others and not is_left_out(text)
    ]


def _overlaps(before: Rows, after: Rows) -> list[tuple[float, int, int]]:
    """Return (shared characters, row, other row) for overlapping pairs with enough equal text."""
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
    """Return the overlaps on one page. Both lists are sorted by start."""
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
            if end - start >= MIN_OVERLAP * shorter and _equal(
                _slice(passage, start, end), _slice(theirs, start, end)
            ):
                overlaps.append((end - start, row, other))
    return overlaps


def _slice(passage: Passage, start: int, end: int) -> str:
    """Return a part of the passage, by its offsets in the page."""
    return passage.text[start - passage.place.start : end - passage.place.start]


def _similarities(before: Rows, after: Rows) -> list[tuple[float, int, int]]:
    """Return (similarity, row, other row) for pairs of a page with similar wording."""
    before = {row: passage for row, passage in before.items() if not is_left_out(passage.text)}
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
