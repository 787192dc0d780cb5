"""Superscripts and subscripts of a PDF page, by the size and the baseline of characters."""

import ctypes
import re
from collections.abc import Iterator, Sequence
from typing import Any

from core.text.superscripts import lowered, raised

_SMALLER = 0.92
"""Largest height of raised or lowered text, as a share of the height of its line."""
_DIFFERENT = 0.03
"""Least difference of two heights, as a share."""
_RAISED, _LOWERED = 0.1, 0.06
"""Least distance from the baseline, as shares of the height of the line."""
_FARTHEST = 0.8
"""Largest distance from the baseline. Beyond is another line."""
_SAME_LINE = 0.5
"""Points between the baselines of one line."""
_GAP = 0.12
"""Least space between words, as a share of the height of the line."""
_TOKEN = re.compile(r"\S{2,60}(?:\r\n\S{1,8}(?=\r\n))?")
"""Text without spaces. pdfium often ends the line before and after a raised part."""
_MIXED = re.compile(r"[\d+=−\n]")
"""What a token has if a part in its middle may be raised. In others it is the end."""
_CLOSING = ".,;:!?)]}\"'»”’…\r\n"


def with_levels(text: str, page: Any, spans: Sequence[tuple[int, int]] = ()) -> str:
    """Return the text of a page, or of spans of it as lines, with its raised and lowered parts written out.

    `page` is the text page of pdfium. Its text has "106" for 10⁶, and often ends the line there.
    """
    if (
        len(text) != page.count_chars()
    ):  # characters beyond 16 bits, or a damaged page: the places are unknown
        return text
    characters = _Characters(page)
    written = [_span_with_levels(text, span, characters) for span in spans or [(0, len(text))]]
    return written[0] if not spans else "\r\n".join(map(str.strip, written))


def _span_with_levels(text: str, span: tuple[int, int], characters: "_Characters") -> str:
    pieces: list[str] = []
    end, last = span
    for match in _TOKEN.finditer(text, *span):
        if match.start() < end or not characters.differ(match.start(), match[0]):
            continue
        for start, stop, level, base in list(_spans(text, *match.span(), characters)):
            # pdfium may end the line before and after the part.
            before = text[end:start]
            if before.endswith("\r\n"):
                before = before[:-2]
            pieces += (before, (raised if level > 0 else lowered)(text[start:stop]))
            end = stop
            if text.startswith("\r\n", stop) and stop + 2 < last and characters.continues(base, stop + 2):
                end = stop + 2
                pieces.append(" " * characters.is_apart(stop - 1, stop + 2))
    return "".join((*pieces, text[end:last]))


def may_have_levels(page: Any) -> bool:
    """Whether a piece of text on a page is smaller than the piece before it, and a little off its line.

    It looks at pieces as the page draws them, which are far fewer than characters.
    """
    from pypdfium2 import raw

    matrix, own = raw.FS_MATRIX(), ctypes.c_float()
    size = line = 0.0
    for place in range(raw.FPDFPage_CountObjects(page)):
        piece = raw.FPDFPage_GetObject(page, place)
        kind = raw.FPDFPageObj_GetType(piece)
        if kind == raw.FPDF_PAGEOBJ_FORM:  # text inside of it is not listed
            return True
        if kind != raw.FPDF_PAGEOBJ_TEXT:
            continue
        raw.FPDFPageObj_GetMatrix(piece, matrix)
        raw.FPDFTextObj_GetFontSize(piece, own)
        before, above = size, line
        size, line = own.value * abs(matrix.d or matrix.b), matrix.f
        smaller, larger = sorted((size, before))
        if smaller <= _SMALLER * larger and _LOWERED * larger < abs(line - above) < larger:
            return True
    return False


class _Characters:
    """Heights and origins of the characters of a page."""

    def __init__(self, page: Any) -> None:
        from pypdfium2 import raw

        self._page, self._handle = page, page.raw
        self._get_box, self._get_origin = raw.FPDFText_GetLooseCharBox, raw.FPDFText_GetCharOrigin
        self._box = raw.FS_RECTF()
        self._x, self._y = ctypes.c_double(), ctypes.c_double()

    def differ(self, start: int, token: str) -> bool:
        """Whether the characters of a token have several heights. Most have one, so this must be quick."""
        last = len(token.rstrip(_CLOSING)) - 1
        if last <= 0:
            return False
        first = self.height(start)
        places = range(last, 0, -1) if _MIXED.search(token) else (last,)
        return any(abs(self.height(start + place) - first) > _DIFFERENT * first for place in places)

    def height(self, place: int) -> float:
        """The height of the character's font at its size on the page, whatever the character."""
        box = self._box
        self._get_box(self._handle, place, box)
        return float(box.top - box.bottom)

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
        return bool(self.origin(following)[0] - right > _GAP * self.height(following) and right > left)


def _spans(text: str, start: int, stop: int, characters: _Characters) -> Iterator[tuple[int, int, int, int]]:
    """Yield the raised and lowered parts of a token: start, end, level, and the character before."""
    places = [place for place in range(start, stop) if not text[place].isspace()]
    sizes = [characters.height(place) for place in places]
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
