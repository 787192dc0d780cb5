"""Superscripts and subscripts of a PDF page, by the size and the baseline of characters."""

import ctypes
import re
from collections.abc import Iterator
from typing import Any

from core.text.superscripts import lowered, raised

_SMALLER = 0.92
"""Largest size of raised or lowered text, as a share of the size of its line."""
_RAISED, _LOWERED = 0.12, 0.07
"""Least distance from the baseline, as shares of the size of the line."""
_FARTHEST = 0.9
"""Largest distance from the baseline. Beyond is another line."""
_SAME_LINE = 0.5
"""Points between the baselines of one line."""
_GAP = 0.15
"""Least space between words, as a share of the size of the line."""
_CANDIDATE = re.compile(
    r"(?<!\S)(?:[^\s\d+=−]*[\d+=−]\S*(?:\r\n\S{1,8}(?=\r\n))?|\S{2,40}(?=\r\n)(?:\r\n\S{1,8}(?=\r\n))?)"
)
"""Text that may have a raised part: with a digit or sign, or before the line end that pdfium reads after one."""
_LONGEST = 60


def with_levels(text: str, page: Any) -> str:
    """Return the text of a page with its raised and lowered parts written out.

    `page` is the text page of pdfium. Its text has "106" for 10⁶, and often ends the line there.
    """
    if (
        len(text) != page.count_chars()
    ):  # characters beyond 16 bits, or a damaged page: the places are unknown
        return text
    characters = _Characters(page)
    pieces: list[str] = []
    end = 0
    for match in _CANDIDATE.finditer(text):
        start, stop = match.span()
        if start < end or stop - start > _LONGEST or not characters.differ(start, stop):
            continue
        spans = list(_spans(text, start, stop, characters))
        for start, stop, level, base in spans:
            # pdfium may end the line before and after the part.
            before = text[end:start]
            if before.endswith("\r\n"):
                before = before[:-2]
            pieces += (before, (raised if level > 0 else lowered)(text[start:stop]))
            end = stop
            if (
                text.startswith("\r\n", stop)
                and stop + 2 < len(text)
                and characters.continues(base, stop + 2)
            ):
                end = stop + 2
                pieces.append(" " * characters.is_apart(stop - 1, stop + 2))
    return "".join((*pieces, text[end:])) if pieces else text


class _Characters:
    """Sizes and origins of the characters of a page."""

    def __init__(self, page: Any) -> None:
        from pypdfium2 import raw

        self._page, self._handle = page, page.raw
        self._get_size, self._get_origin = raw.FPDFText_GetFontSize, raw.FPDFText_GetCharOrigin
        self._x, self._y = ctypes.c_double(), ctypes.c_double()

    def differ(self, start: int, stop: int) -> bool:
        """Whether the characters of a token have several sizes. Most have one, so this must be quick."""
        get_size, handle = self._get_size, self._handle
        first = get_size(handle, start)
        return any(get_size(handle, place) != first for place in range(stop - 1, start, -1))

    def size(self, place: int) -> float:
        return float(self._get_size(self._handle, place))

    def origin(self, place: int) -> tuple[float, float]:
        self._get_origin(self._handle, place, self._x, self._y)
        return self._x.value, self._y.value

    def continues(self, base: int, place: int) -> bool:
        """Whether a character stands on the line of another, to its right."""
        (left, line), (right, other) = self.origin(base), self.origin(place)
        return right > left and abs(other - line) < _SAME_LINE

    def is_apart(self, place: int, following: int) -> bool:
        """Whether there is a space between two characters."""
        left, _, right, _ = self._page.get_charbox(place, loose=True)
        return bool(self.origin(following)[0] - right > _GAP * self.size(following) and right > left)


def _spans(text: str, start: int, stop: int, characters: _Characters) -> Iterator[tuple[int, int, int, int]]:
    """Yield the raised and lowered parts of a token: start, end, level, and the character before."""
    places = [place for place in range(start, stop) if not text[place].isspace()]
    sizes = [characters.size(place) for place in places]
    if not sizes or min(sizes) > _SMALLER * max(sizes):
        return
    base, size, line = places[0], sizes[0], characters.origin(places[0])[1]
    part: list[int] = []
    level = 0
    for place, own in zip(places[1:], sizes[1:], strict=True):
        distance = (characters.origin(place)[1] - line) / (size or 1.0)
        now = 0
        if own <= _SMALLER * size and abs(distance) < _FARTHEST:
            now = (distance >= _RAISED) - (distance <= -_LOWERED)
        if now != level and part:
            yield part[0], part[-1] + 1, level, base
            part = []
        level = now
        if now:
            part.append(place)
        else:
            base, size, line = place, own, characters.origin(place)[1]
    if part:
        yield part[0], part[-1] + 1, level, base
