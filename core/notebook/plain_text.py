"""The HTML of a display as lines for a terminal."""

from collections.abc import Sequence
from html.parser import HTMLParser

from core.text.sanitize import one_line, sanitize

CELL = 70
"""Characters of a cell."""
_HIDDEN = frozenset({"style", "svg"})
_BLOCKS = frozenset({"p", "div", "h3", "li", "blockquote", "pre", "figcaption", "br", "hr", "tr"})


def plain_text(content: str) -> str:
    """Blocks as lines, tables in columns; of drawings their captions. Without characters that a terminal obeys."""
    reader = _Reader()
    reader.feed(content)
    reader.close()
    return sanitize("\n".join(reader.lines))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines = [""]
        self._hidden = 0
        self._rows: list[list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._hidden += tag in _HIDDEN
        if tag == "table":
            self._rows = []
        elif self._rows is None and tag in _BLOCKS:
            self.lines.append("• " if tag == "li" else "")
        elif self._rows is not None and tag == "tr":
            self._rows.append([])
        elif self._rows and tag in ("th", "td"):
            self._rows[-1].append("")
        elif self._rows and tag in _BLOCKS:
            self._rows[-1][-1] += " "

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _HIDDEN
        if tag == "table" and self._rows is not None:
            self.lines += [*_columns(self._rows), ""]
            self._rows = None
        elif self._rows is None and tag in _BLOCKS:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if self._rows is None:
            self.lines[-1] += data
        elif self._rows and self._rows[-1]:
            self._rows[-1][-1] += data


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows in columns of equal width, without columns that have nothing below their head."""
    columns = [[one_line(cell, CELL) for cell in column] for column in zip(*rows, strict=True)]
    columns = [column for column in columns if any(column[1:])]
    padded = [[cell.ljust(max(map(len, column))) for cell in column] for column in columns]
    return ["  ".join(line).rstrip() for line in zip(*padded, strict=True)]
