"""The reading order of a PDF page whose columns are drawn line by line across them.

Most programs draw one column after the other, and their order is kept. Others sort what they draw by its height, so
that each line of a column is followed by the line beside it. Tables are drawn so too, and stay: columns are told by
lines that fill them, as running text does.
"""

import ctypes
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from math import inf
from statistics import median
from typing import Any, NamedTuple

import regex as re

_NARROWEST = 5
"""Least points between two columns."""
_WORD_SPACE = 0.9
"""Largest space between words of a line, in heights of their letters."""
_FEWEST_LINES = 5
"""Least lines of a column on a page."""
_LEAST_WIDTH = 8.0
"""Least width of a column, in heights of its lines: about three words."""
_FULL, _MOSTLY = 0.75, 0.6
"""Share of a column's width from which a line fills it, and share of its lines that do so."""
_CROSSED = 0.5
"""Largest share of the lines of a page that may stand across the space between columns, such as titles."""
_MARGIN = 0.15
"""Share of the width of the text at either side that is no space between columns."""
_ALTERNATING = 0.5
"""Least share of lines that are drawn in turns with the other column."""
_APART = 1.5
"""Least distance between rows of a table, in distances of lines."""
_MOST_PIECES, _MOST_SPACES, _MOST_DIVISIONS = 5_000, 4, 3
"""Pieces of a page, spaces that are tried, and divisions of a part of it, beyond which the order is kept."""
_RIGHT_TO_LEFT = re.compile(r"[\p{Hebrew}\p{Arabic}\p{Syriac}\p{Thaana}]")

Span = tuple[int, int]


class _Piece(NamedTuple):
    """A piece of text in one line, in points from the lower left, and its place in the drawing."""

    left: float
    bottom: float
    right: float
    top: float
    number: int

    @property
    def middle(self) -> float:
        return (self.bottom + self.top) / 2


class _Zone(NamedTuple):
    """A part of a page that is read from its top to its bottom."""

    left: float
    bottom: float
    right: float
    top: float


_PAGE = _Zone(-inf, -inf, inf, inf)


def in_columns(text: str, page: Any) -> list[list[Span]]:
    """Return the spans of a page's text by part of the page, in reading order, or none if it is in order already.

    `page` is the text page of pdfium. A span is a line, or a part of one.
    """
    if len(text) != page.count_chars():  # the places are unknown
        return []
    from_right = len(_RIGHT_TO_LEFT.findall(text)) > len(text) / 3
    zones = list(_zones(_joined(list(_pieces(page))), _PAGE, from_right=from_right))
    return _spans(text, page, zones) if len(zones) > 1 else []


def _pieces(page: Any) -> Iterator[_Piece]:
    from pypdfium2 import raw

    left, top, right, bottom = (ctypes.c_double() for _ in range(4))
    count = raw.FPDFText_CountRects(page.raw, 0, -1)
    for number in range(count if count <= _MOST_PIECES else 0):
        raw.FPDFText_GetRect(page.raw, number, left, top, right, bottom)
        if right.value > left.value and top.value > bottom.value:
            yield _Piece(left.value, bottom.value, right.value, top.value, number)


def _joined(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Join words that are drawn one after the other to lines."""
    joined: list[_Piece] = []
    space = _WORD_SPACE * median([piece.top - piece.bottom for piece in pieces] or [0.0])
    for piece in pieces:
        last = joined[-1] if joined else piece
        if joined and -space < piece.left - last.right < space and last.bottom < piece.middle < last.top:
            bottom, top = min(last.bottom, piece.bottom), max(last.top, piece.top)
            joined[-1] = _Piece(last.left, bottom, piece.right, top, last.number)
        else:
            joined.append(piece)
    return joined


def _zones(
    pieces: Sequence[_Piece], within: _Zone, *, from_right: bool, divisions: int = 0
) -> Iterator[_Zone]:
    for space in _spaces(pieces) if divisions < _MOST_DIVISIONS else ():
        runs = _runs(pieces, space)
        columned = [_sides(run, space) for run in runs if all(_sides(run, space))]
        if not _are_columns(columned):
            continue
        tops = [max(piece.top for piece in run) for run in runs]
        bottoms = [min(piece.bottom for piece in run) for run in runs]
        edges = [
            within.top,
            *((low + high) / 2 for low, high in zip(bottoms, tops[1:], strict=False)),
            within.bottom,
        ]
        for run, (top, bottom) in zip(runs, pairwise(edges), strict=True):
            sides = _sides(run, space)
            if not all(sides):
                yield _Zone(within.left, bottom, within.right, top)
                continue
            parts = [
                (sides[0], _Zone(within.left, bottom, space, top)),
                (sides[1], _Zone(space, bottom, within.right, top)),
            ]
            for side, part in reversed(parts) if from_right else parts:
                yield from _zones(side, part, from_right=from_right, divisions=divisions + 1)
        return
    yield within


def _spaces(pieces: Sequence[_Piece]) -> list[float]:
    """Return the middles of spaces that may divide columns.

    Those that the fewest lines cross come first, then the widest.
    """
    if not pieces:
        return []
    start, end = int(min(piece.left for piece in pieces)), int(max(piece.right for piece in pieces)) + 1
    if not _LEAST_WIDTH < end - start < 10_000:
        return []
    changes = [0] * (end - start + 2)
    for piece in pieces:
        changes[int(piece.left) - start] += 1
        changes[int(piece.right) + 1 - start] -= 1
    cover = list(accumulate(changes))[: end - start]
    most = _CROSSED * median(cover)
    margin = _MARGIN * (end - start)
    ranked_spaces: list[tuple[int, int, float]] = []
    place = 0
    for count, run in groupby(cover):
        width = len(list(run))
        middle = place + width / 2
        if count <= most and width >= _NARROWEST and margin < middle < end - start - margin:
            ranked_spaces.append((count, -width, start + middle))
        place += width
    return [middle for *_, middle in sorted(ranked_spaces)[:_MOST_SPACES]]


def _runs(pieces: Sequence[_Piece], space: float) -> list[list[_Piece]]:
    """Return the pieces in groups from top to bottom.

    Lines that cross the space are a group apart, and so is each row of a table.
    """

    def crosses(piece: _Piece) -> bool:
        return piece.left < space - 1 and piece.right > space + 1

    ordered = sorted(pieces, key=lambda piece: -piece.middle)
    return [row for _, run in groupby(ordered, crosses) for row in _rows(list(run), space)]


def _rows(run: list[_Piece], space: float) -> list[list[_Piece]]:
    """Return the rows of a table whose cells have several lines: all gaps of one column are those of the other."""
    left, right = (_gaps(side) for side in _sides(run, space))
    if len(left) < 2 or len(left) != len(right):
        return [run]
    shared = [(max(a[0], b[0]), min(a[1], b[1])) for a, b in zip(left, right, strict=True)]
    if any(low > high for low, high in shared):
        return [run]
    return [
        list(row) for _, row in groupby(run, lambda piece: sum(piece.middle < high for _, high in shared))
    ]


def _gaps(side: Sequence[_Piece]) -> list[tuple[float, float]]:
    """Return the gaps between the lines of a column that are wider than most: their lower and upper ends."""
    lines = _lines(side)
    distances = [above.middle - below.middle for above, below in pairwise(lines)]
    widest = _APART * median(distances) if distances else 0.0
    return [
        (below.top, above.bottom)
        for (above, below), distance in zip(pairwise(lines), distances, strict=True)
        if distance > widest
    ]


def _sides(run: Sequence[_Piece], space: float) -> tuple[list[_Piece], list[_Piece]]:
    left = [piece for piece in run if piece.right <= space + 1]
    return left, [piece for piece in run if piece.left >= space - 1]


def _lines(side: Sequence[_Piece]) -> list[_Piece]:
    lines: list[_Piece] = []
    for piece in sorted(side, key=lambda piece: -piece.middle):
        if lines and lines[-1].middle - piece.middle < (lines[-1].top - lines[-1].bottom) / 2:
            last = lines[-1]
            lines[-1] = last._replace(left=min(last.left, piece.left), right=max(last.right, piece.right))
        else:
            lines.append(piece)
    return lines


def _are_columns(runs: Sequence[tuple[list[_Piece], list[_Piece]]]) -> bool:
    """Whether both sides of a space are running text, and are drawn line by line across it."""
    sides = [[line for run in runs for line in _lines(run[side])] for side in (0, 1)]
    fewest = min(map(len, sides))
    if fewest < _FEWEST_LINES or not all(map(_fills_lines, sides)):
        return False
    numbers = sorted((piece.number, side) for run in runs for side in (0, 1) for piece in run[side])
    turns = sum(before < after for (_, before), (_, after) in pairwise(numbers))
    return turns >= _ALTERNATING * fewest


def _fills_lines(lines: Sequence[_Piece]) -> bool:
    left, right = min(line.left for line in lines), max(line.right for line in lines)
    width = right - left
    full = sum(line.right - line.left >= _FULL * width for line in lines)
    return width >= _LEAST_WIDTH * median(line.top - line.bottom for line in lines) and full >= _MOSTLY * len(
        lines
    )


def _spans(text: str, page: Any, zones: Sequence[_Zone]) -> list[list[Span]]:
    """Return the spans of each zone. White space belongs to the character before it."""
    zone_spans: list[list[Span]] = [[] for _ in zones]
    current = start = 0
    for place, character in enumerate(text):
        if character.isspace():
            continue
        left, bottom, right, top = page.get_charbox(place, loose=True)
        x, y = (left + right) / 2, (bottom + top) / 2
        zone = zones[current]
        if zone.left <= x < zone.right and zone.bottom <= y < zone.top:
            continue
        number = next(
            (n for n, z in enumerate(zones) if z.left <= x < z.right and z.bottom <= y < z.top), current
        )
        if number != current:
            zone_spans[current].append((start, place))
            current, start = number, place
    zone_spans[current].append((start, len(text)))
    return [spans for spans in zone_spans if spans]
