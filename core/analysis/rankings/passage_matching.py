"""Matching of passages between two chunkings: by id, by text, then by overlap."""

from collections.abc import Sequence

from core.model import Passage, Place
from core.text.sanitize import single_spaced

MIN_OVERLAP = 0.5
"""The minimum share of the shorter passage that two matching passages have in common."""


def match_passages(before: Sequence[Passage], after: Sequence[Passage]) -> dict[int, int]:
    """Match the passages of two indexes: rows of `after` by rows of `before`, each at most once.

    Equal ids are matched first, then equal texts (so runs over other addresses compare too), then, page
    by page, the pairs that share the most characters.
    """
    if before is after:
        return {row: row for row in range(len(before))}
    pairs: dict[int, int] = {}
    for name in (_by_id, _by_text):
        matched = set(pairs.values())
        free = {name(passage): row for row, passage in enumerate(after) if row not in matched}
        for row, passage in enumerate(before):
            if row not in pairs and (other := free.pop(name(passage), None)) is not None:
                pairs[row] = other
    _by_overlap(before, after, pairs)
    return pairs


def _by_id(passage: Passage) -> str:
    return passage.id


def _by_text(passage: Passage) -> str:
    return single_spaced(passage.text)


def _by_overlap(before: Sequence[Passage], after: Sequence[Passage], pairs: dict[int, int]) -> None:
    """Add pairs of unmatched rows that overlap in a page, most shared characters first."""
    matched = set(pairs.values())
    before_places = _by_page([(row, p.place) for row, p in enumerate(before) if row not in pairs])
    after_places = _by_page([(row, p.place) for row, p in enumerate(after) if row not in matched])
    shared = [
        (-common, row, other)
        for page, places in before_places.items()
        for common, row, other in _overlaps(places, after_places.get(page, []))
    ]
    used: set[int] = set()
    for _, row, other in sorted(shared):
        if row not in pairs and other not in used:
            pairs[row] = other
            used.add(other)


def _by_page(rows: Sequence[tuple[int, Place]]) -> dict[str, list[tuple[int, Place]]]:
    pages: dict[str, list[tuple[int, Place]]] = {}
    for row, place in sorted(rows, key=lambda item: (item[1].start, item[1].end)):
        pages.setdefault(place.page, []).append((row, place))
    return pages


def _overlaps(
    before: Sequence[tuple[int, Place]], after: Sequence[tuple[int, Place]]
) -> list[tuple[int, int, int]]:
    """(shared characters, row, other row) for pairs that share enough. Both lists are sorted by start."""
    overlaps = []
    first = 0
    for row, place in before:
        while first < len(after) and after[first][1].end <= place.start:
            first += 1
        for other, theirs in after[first:]:
            if theirs.start >= place.end:
                break
            common = min(place.end, theirs.end) - max(place.start, theirs.start)
            if common >= MIN_OVERLAP * min(place.end - place.start, theirs.end - theirs.start):
                overlaps.append((common, row, other))
    return overlaps
