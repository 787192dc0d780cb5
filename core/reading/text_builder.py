"""A builder of an article's text from blocks. It records the offsets of sections and pages."""

from collections.abc import Iterable

from core.model import Article, StructureKind
from core.reading.normalization import MAX_CHARACTERS, clean_line, left_out, normalize, normalize_code


class TextBuilder:
    """Joins blocks by blank lines, and table rows by line ends. Offsets are in the joined text."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._after_row = False
        self._sections: list[tuple[int, str]] = []
        self._pages: list[int] = []
        self._structures: list[tuple[int, int, StructureKind]] = []
        self._refused = 0
        """Characters of the first block that was left out."""

    @property
    def full(self) -> bool:
        """True once blocks are being left out."""
        return self._refused > 0

    def block(self, text: str, *, row: bool = False) -> None:
        """The next paragraph, or row of a table."""
        self._add(normalize(text), StructureKind.TABLE if row else None)

    def code(self, text: str) -> None:
        """Add a block of code, whose lines and indentation stay."""
        self._add(normalize_code(text), StructureKind.CODE)

    def _add(self, text: str, kind: StructureKind | None) -> None:
        if not text:
            return
        row = kind is StructureKind.TABLE
        if not self.full and self._length + len(text) > MAX_CHARACTERS:
            self._refused = len(text)
        if self.full:
            return
        gap = ("\n" if row and self._after_row else "\n\n") if self._pieces else ""
        self._pieces += (gap, text)
        self._length += len(gap) + len(text)
        if kind is not None:
            start = self._structures.pop()[0] if gap == "\n" else self._length - len(text)
            self._structures.append((start, self._length, kind))
        self._after_row = row

    def row(self, cells: Iterable[str]) -> None:
        """Add the next row of a table, without its empty cells."""
        self.block(" | ".join(filter(None, (" ".join(cell.split()) for cell in cells))), row=True)

    def section(self, title: str) -> None:
        """Start a section with this heading. The next heading replaces a heading without text."""
        if (title := clean_line(title, 200)) and not self.full:
            if self._sections and self._sections[-1][0] == self._next_start:
                self._sections.pop()
            self._sections.append((self._next_start, title))
            self._after_row = False

    def page(self) -> None:
        """Mark a page start. A page without text starts with the next page."""
        if not self.full:
            self._pages.append(self._next_start)
            self._after_row = False

    def article(
        self, extractor: str, *, title: str = "", author: str = "", date: str = "", language: str = ""
    ) -> Article:
        """Return the article of all blocks, sections and pages until now."""
        text = "".join(self._pieces)
        return Article(
            text=text,
            extractor=extractor,
            title=clean_line(title),
            author=clean_line(author),
            date=clean_line(date, 10),
            language=clean_line(language, 2),
            page_starts=tuple(min(start, len(text)) for start in self._pages),
            sections=tuple((start, name) for start, name in self._sections if start < len(text)),
            structures=tuple(self._structures),
            left_out=left_out(self._length + self._refused),
        )

    @property
    def _next_start(self) -> int:
        """Where the next block would begin as a paragraph."""
        return self._length + (2 if self._pieces else 0)
