"""Ends of paragraphs of a PDF page that are seen by the size of letters and by the space between lines."""

import ctypes
from collections import Counter
from itertools import pairwise
from statistics import median
from typing import Any

_LINE_END = "\r\n"
_LARGER = 1.15
"""Least ratio of the sizes of two lines, above which they are no one paragraph."""
_USUAL = 0.4
"""Least share of the lines of a page with one size. Below, each line has its own, as a scan with recognized text has."""
_APART = 3.0
"""Distance of two lines in sizes of their letters, above which they are no one paragraph. Double spacing has 2.4."""
_SAMPLES = 3
"""Characters of a line whose size is looked at. A few may be raised or be a larger initial."""

Pairs = frozenset[tuple[str, str]]


def paragraph_ends(text: str, page: Any) -> Pairs:
    """Return the pairs of neighbouring lines between which a paragraph ends.

    `page` is the text page of pdfium with this text. A sentence may go on below a picture.
    """
    if len(text) != page.count_chars():  # the places of characters are unknown
        return frozenset()
    lines: list[tuple[str, float, float]] = []
    start = 0
    for line in text.split(_LINE_END):
        if words := line.strip():
            first = start + line.index(words[0])
            step = max(1, (len(words) - 1) // (_SAMPLES - 1))
            samples = [_size_and_line(page, place) for place in range(first, first + len(words), step)]
            lines.append((words, median(size for size, _ in samples), median(base for _, base in samples)))
        start += len(line) + len(_LINE_END)
    usual = Counter(round(size, 1) for _, size, _ in lines).most_common(1)
    by_size = bool(usual) and usual[0][1] >= _USUAL * len(lines)
    return frozenset(
        (above, below)
        for (above, size, line), (below, other, following) in pairwise(lines)
        if (by_size and max(size, other) > _LARGER * min(size, other) > 0)
        or (line - following > _APART * max(size, other) > 0 and not below[0].islower())
    )


def _size_and_line(page: Any, place: int) -> tuple[float, float]:
    """Return the size of a character on the page, whatever its font, and the height of its line."""
    from pypdfium2 import raw

    matrix = raw.FS_MATRIX()
    raw.FPDFText_GetMatrix(page.raw, place, matrix)
    scale = abs(matrix.a * matrix.d - matrix.b * matrix.c) ** 0.5
    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(page.raw, place, x, y)
    return raw.FPDFText_GetFontSize(page.raw, place) * scale, y.value


def with_paragraph_ends(text: str, ends: Pairs) -> str:
    """Return a text with an empty line between each of these pairs of lines."""
    if not ends:
        return text
    lines = text.split(_LINE_END)
    pieces = [lines[0]]
    for above, below in pairwise(lines):
        pieces += ([""] if (above.strip(), below.strip()) in ends else []) + [below]
    return _LINE_END.join(pieces)
