"""Tables and code of an HTML page, written into its article.

They get the form and the spans that other formats have.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest

import lxml.html

from core.model import StructureKind
from core.reading.html.text_blocks import cells, is_laid_out, spoken
from core.reading.normalization import normalize, normalize_code
from core.reading.office.tables import MAX_COLUMNS, add_table
from core.reading.text_builder import TextBuilder

_MAX_STRUCTURES = 1_000
_MAX_REPEATED, _MAX_SPANNED = 200, 300_000
"""Maximum characters of a cell, and of a table, to repeat over spanned rows or columns."""
_MAX_GROWTH, _SLACK = 2, 300
"""Limits on a table's growth by column names in its rows: a factor, and additional characters."""
_LONGEST_CELL = 1_000
"""Characters above which a cell of a table without heads is a part of the page."""
_PROSE_WORDS = 8
"""Words from which a line of preformatted text is prose."""
_MIN_WORDS = 3
"""Words below which a table is only a line of the page."""
_ANYWHERE, _MAX_TRIES = 12, 20
"""Words from which a structure is located inside a line too, and the number of tries."""
_WORD, _COUNT = re.compile(r"\w+"), re.compile("[0-9]{1,6}")
_LETTERS = re.compile(r"(?<!\S)[^\W\d_]{2,}[,.;:!?)]*(?!\S)")

Span = tuple[int, int, StructureKind]


@dataclass(frozen=True, slots=True)
class Structure:
    """A table or a code block of a page."""

    kind: StructureKind
    words: tuple[str, ...]
    """The words of each row on the page, with a blank around each. Code is one row."""
    rows: tuple[tuple[str, ...], ...]
    """The cells of each row by column, or the text of code."""
    headed: int = 0
    """How many rows at the top name the columns."""


def html_structures(tree: lxml.html.HtmlElement) -> tuple[Structure, ...]:
    """Return a tree's data tables and code blocks, in order. At most 1,000 are returned."""
    structures: list[Structure] = []
    outer: lxml.html.HtmlElement | None = None
    for element in tree.iter("table", "pre", "code"):
        if outer is not None and outer in element.iterancestors(outer.tag):
            continue
        structure = _table(element) if element.tag == "table" else _code(element)
        if structure is not None:
            outer = element
            structures.append(structure)
            if len(structures) == _MAX_STRUCTURES:
                break
    return tuple(structures)


def write_structures(text: str, structures: Sequence[Structure]) -> tuple[str, tuple[Span, ...]]:
    """Return the text with rewritten structures, and their spans.

    Structures get the form of other formats. A structure is located by its words, which extractors keep in
    order. An incomplete structure stays unchanged.
    """
    if not structures:
        return text, ()
    page = _Words(text)
    pieces: list[str] = []
    spans: list[Span] = []
    length = done = cursor = 0
    for structure in structures:
        place = page.place(structure, cursor)
        written = _written(structure) if place else ""
        if place is None or not written or place[0] < done:
            continue
        for piece in (text[done : place[0]].strip("\n |"), written):
            if piece:
                pieces.append(f"\n\n{piece}" if pieces else piece)
                length += len(pieces[-1])
        spans.append((length - len(written), length, structure.kind))
        done, cursor = place[1], place[2]
    after = text[done:].strip("\n |")
    return ("".join(pieces) + (f"\n\n{after}" if after else ""), tuple(spans)) if spans else (text, ())


class _Words:
    """The words of a text, to locate structures by their words."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = [match.span() for match in _WORD.finditer(text)]
        self._line = f" {' '.join(text[start:end] for start, end in self._words)} "
        self._offsets = list(accumulate((end - start + 1 for start, end in self._words), initial=0))

    def place(self, structure: Structure, cursor: int) -> tuple[int, int, int] | None:
        """Return the span of a structure's words, and the position of the last word.

        The span consists of whole lines if the structure is short. Returns None without a match after
        `cursor`, in characters of the words.
        """
        words = f" {''.join(structure.words)}"
        if structure.kind is StructureKind.TABLE and words.count(" ") <= _MIN_WORDS:
            return None
        begin = cursor - 1
        for _ in range(_MAX_TRIES):
            begin = self._line.find(words, begin + 1)
            if begin < 0:
                return None
            end = begin + len(words)
            if lines := self._lines(begin, end, anywhere=words.count(" ") > _ANYWHERE):
                return *lines, end - 1
        return None

    def _lines(self, begin: int, end: int, *, anywhere: bool) -> tuple[int, int] | None:
        """Return the span of the lines with these words, or None.

        Neighbouring lines of marks such as brackets are included. If the lines have other words too, the span
        is of the words alone with `anywhere`.
        """
        first, last = bisect_right(self._offsets, begin) - 1, bisect_right(self._offsets, end - 3) - 1
        (start, _), (_, stop) = self._words[first], self._words[last]
        ends = last + 1 == len(self._words)
        line = self._text.find("\n", self._words[first - 1][1], start) + 1 if first else 0
        line_end = len(self._text) if ends else self._text.rfind("\n", stop, self._words[last + 1][0])
        if (line or not first) and line_end >= 0:
            return line, line_end
        return (start, stop) if anywhere else None


def _written(structure: Structure) -> str:
    """Return code, or the rows of a table, as text.

    The rows are written by `add_table`, or unchanged if column names would be most of the text.
    """
    if structure.kind is StructureKind.CODE:
        return structure.rows[0][0]
    alone = [sum(map(bool, row)) < 2 for row in structure.rows]
    titled = next((number for number, row in enumerate(alone) if not row), len(alone))
    heads = [
        row for row, single in zip(structure.rows[: structure.headed], alone, strict=False) if not single
    ]
    names = [" ".join(dict.fromkeys(filter(None, column))) for column in zip_longest(*heads, fillvalue="")]
    body = structure.rows[max(titled, structure.headed) :]
    for with_names in (True, False):
        out = TextBuilder()
        for row in structure.rows[: titled if with_names else None]:
            out.row(row)
        if with_names:
            add_table(out, [names, *body] if any(names) else body, headed=any(names))
        text = out.article("").text
        if len(text) <= _MAX_GROWTH * sum(map(len, structure.words)) + _SLACK:
            break
    return text


def _code(element: lxml.html.HtmlElement) -> Structure | None:
    """Return the code block of an element, or None.

    Preformatted prose and line numbers are not code. Other code must have several lines.
    """
    text = normalize_code(spoken(element))
    if element.tag == "code" and ("\n" not in text or next(element.iterancestors("pre"), None) is not None):
        return None
    lines = list(filter(str.strip, text.split("\n")))
    prose = sum(len(_LETTERS.findall(line)) >= _PROSE_WORDS for line in lines)
    words = _spaced(text)
    if not words or words.replace(" ", "").isdigit() or prose * 2 > len(lines):
        return None
    return Structure(StructureKind.CODE, (words,), ((text,),))


def _table(table: lxml.html.HtmlElement) -> Structure | None:
    """Return a data table, or None.

    It has two rows and two columns or more, and no parts of the page in its cells.
    """
    marked = next(table.iter("th"), None) is not None
    if table.get("role") in ("presentation", "none") or is_laid_out(table):
        return None
    trs = [(row, list(cells(row))) for row in table.iter("tr")]
    if not marked and any(len(text) > _LONGEST_CELL for _, row in trs for _, text in row):
        return None
    headed = 0
    for tr, row in trs:
        if not row or not (tr.getparent().tag == "thead" or all(cell.tag == "th" for cell, _ in row)):
            break
        headed += 1
    grid = tuple(_spread([row for _, row in trs], headed))
    if len(grid) < 2 or max(map(len, grid)) < 2 or not any(map(any, grid[headed:])):
        return None
    words = tuple(_spaced(normalize(" ".join(text for _, text in row))) for _, row in trs)
    return Structure(StructureKind.TABLE, words, grid, headed)


def _spread(
    rows: Sequence[Sequence[tuple[lxml.html.HtmlElement, str]]], headed: int
) -> Iterator[tuple[str, ...]]:
    """Yield the cells by column.

    A short cell that spans rows is repeated in each row. A head that spans columns is repeated in each
    column.
    """
    below: dict[int, tuple[int, str]] = {}
    spanned = 0
    for number, row in enumerate(rows):
        line: dict[int, str] = {}
        for place, (more, text) in list(below.items()):
            line[place] = text
            below[place] = more - 1, text
            spanned += len(text) + 1
            if more < 2 or spanned > _MAX_SPANNED:
                del below[place]
        place = 0
        for cell, text in row:
            while place in line:
                place += 1
            wide = _span(cell, "colspan") if len(row) > 1 else 1
            short = len(text) <= _MAX_REPEATED
            for column in range(place, min(place + wide, MAX_COLUMNS)):
                again = short and number < headed and spanned <= _MAX_SPANNED
                line[column] = text if again or column == place else ""
                spanned += len(line[column]) if column > place else 1
                if short and (more := _span(cell, "rowspan") - 1):
                    below[column] = more, line[column]
            place += wide
        yield tuple(line.get(column, "") for column in range(max(line, default=-1) + 1))


def _span(cell: lxml.html.HtmlElement, name: str) -> int:
    value = (cell.get(name) or "").strip()
    return min(max(int(value), 1), MAX_COLUMNS) if _COUNT.fullmatch(value) else 1


def _spaced(text: str) -> str:
    words = _WORD.findall(text)
    return f"{' '.join(words)} " if words else ""
