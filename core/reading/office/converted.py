"""Documents of the conversion library as articles."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from core.model import SkipReason, Unreadable
from core.reading import file_types
from core.reading.office.list_marks import marker
from core.reading.office.prepared import HEAD_MARK
from core.reading.office.slides import SLIDE_MARK
from core.reading.office.tables import MAX_COLUMNS, add_sheet, add_table, is_figure
from core.reading.text_builder import TextBuilder
from core.text.superscripts import raised

_RAISED_DIGITS = tuple("⁰¹²³⁴⁵⁶⁷⁸⁹")
_UNNAMED = ("picture", "image", "grafik", "bild", "graphic", "img", "object", "photo")
"""First words of an alternative text that a program made up."""
_FILE_NAME = re.compile(r"\S+\.\w{3,4}")


def convert(body: bytes, media_type: str) -> Any:
    """Convert an office file to the library's model of a document.

    Raises:
        Unreadable: when the file is locked, damaged or too large, or the library is missing.
    """
    try:
        import anydoc
    except ImportError as error:
        raise Unreadable(
            SkipReason.UNSUPPORTED,
            "office files cannot be read on this system, which lacks firecrawl-anydoc; save it as a PDF",
        ) from error
    name = file_types.OFFICE_NAMES[media_type]
    kind: Any = "xlsx" if name.startswith("xls") else name
    try:
        return anydoc.to_document(body, kind)
    except anydoc.EncryptedError as error:
        raise Unreadable(SkipReason.BROKEN, "the office file is locked with a password") from error
    except anydoc.ResourceLimitError as error:
        if "depth" in error.limit:
            raise Unreadable(SkipReason.BROKEN, "it is nested too deep") from error
        detail = "it is larger than the reader of office files allows; save it as a PDF, or a sheet as .csv"
        raise Unreadable(SkipReason.TOO_LARGE, detail) from error
    except anydoc.UnsupportedError as error:
        raise Unreadable(
            SkipReason.UNSUPPORTED, f"an office file of an unknown kind: {error}"[:200]
        ) from error
    except anydoc.ConvertError as error:
        raise Unreadable(SkipReason.BROKEN, f"the office file is damaged: {error}"[:200]) from error


class ConvertedReader:
    """Writes a converted document into a text."""

    def __init__(
        self,
        document: Any,
        out: TextBuilder,
        *,
        slides: bool = False,
        sheets: bool = False,
        hidden_sheets: Collection[str] = (),
    ) -> None:
        self.title = ""
        """The first heading."""
        self.out = out
        self.pictures = 0
        self._slides, self._sheets, self._hidden_sheets = slides, sheets, hidden_sheets
        self._hidden_slide = self._head_marked = False
        self._notes = {note.id: number for number, note in enumerate(document.notes, 1)}
        self._blocks(document.blocks)
        for note in document.notes:
            label = raised(str(self._notes[note.id]))
            for text in self._texts(note.blocks):
                self.out.block(f"{label} {text}")
                label = ""

    def _blocks(self, blocks: Iterable[Any]) -> None:
        skipped = False
        for block in blocks:
            if self._hidden_sheets and block.kind == "heading":
                skipped = self._inline(block.content) in self._hidden_sheets
            if skipped:
                continue
            match block.kind:
                case "heading":
                    self._heading(self._inline(block.content))
                case "paragraph":
                    self._paragraph(self._inline(block.content))
                case "list":
                    for text in self._items(block.list):
                        self.out.block(text)
                case "table":
                    self._table(block.table)
                case "block_quote":
                    self._quote(block.blocks)
                case "code_block" | "math":
                    self.out.block(block.text)

    def _heading(self, text: str) -> None:
        text = self._without_mark(text)
        if self._hidden_slide and text.strip():
            text, self._hidden_slide = f"{text} (hidden slide)", False
        if not self.title:
            self.title = " ".join(text.split())
        self.out.section(text)
        if not self._sheets:
            self.out.block(text)

    def _paragraph(self, text: str) -> None:
        text = self._without_mark(text)
        if self._hidden_slide and text.strip():
            text, self._hidden_slide = f"(hidden slide) {text}", False
        self.out.block(text)

    def _without_mark(self, text: str) -> str:
        """Return a text without the mark of a slide. The slide begins there."""
        mark = SLIDE_MARK.match(text) if self._slides else None
        if mark is None:
            return text
        self.out.page()
        self._hidden_slide = bool(mark[2])
        return text[mark.end() :]

    def _quote(self, blocks: Sequence[Any]) -> None:
        label = "Speaker notes: " if self._slides else ""
        for text in self._texts(blocks):
            self.out.block(label + text)
            label = ""

    def _table(self, table: Any) -> None:
        if table.kind == "layout":
            for row in table.grid:
                for slot in row:
                    if slot.kind == "origin":
                        self._blocks(slot.cell.blocks)
            return
        if self._sheets:
            add_sheet(self.out, self._rows(table))
        else:
            self._head_marked = False
            rows = self._rows(table)
            # A chart has no name above its categories.
            corner = bool(rows) and len(rows[0]) > 1 and not rows[0][0] and all(rows[0][1:])
            add_table(self.out, rows, headed=self._head_marked or corner)

    def _rows(self, table: Any) -> list[list[str]]:
        return _rows(table, lambda blocks: " ".join(" ".join(self._texts(blocks)).split()))

    def _texts(self, blocks: Iterable[Any]) -> Iterator[str]:
        """Yield the texts of blocks inside of another block."""
        for block in blocks:
            match block.kind:
                case "heading" | "paragraph":
                    text = self._inline(block.content)
                case "list":
                    yield from self._items(block.list)
                    continue
                case "table":
                    for row in self._rows(block.table):
                        yield " | ".join(filter(None, row))
                    continue
                case "block_quote":
                    yield from self._texts(block.blocks)
                    continue
                case _:
                    text = getattr(block, "text", None) or ""
            if text.strip():
                yield text

    def _items(self, outer: Any) -> Iterator[str]:
        """Yield the items of a list with its own markers."""
        for place, item in enumerate(outer.items):
            label = item.marker_label or marker(outer.marker, (outer.start or 1) + place)
            first = True
            for text in self._texts(item.blocks):
                yield f"{label} {text}" if first else text
                first = False

    def _inline(self, content: Iterable[Any]) -> str:
        text = ""
        for is_struck, pieces in groupby(content, _is_struck):
            inner = ""
            for piece in pieces:
                # Two references are two numbers.
                apart = piece.kind == "note_ref" and (text + inner)[-1:] in _RAISED_DIGITS
                inner += " " * apart + self._piece(piece)
            text += _struck(inner) if is_struck else inner
        return text

    def _piece(self, piece: Any) -> str:
        match piece.kind:
            case "text":
                text = str(piece.text)
                self._head_marked |= HEAD_MARK in text
                return text.replace(HEAD_MARK, "")
            case "math":
                return f" {piece.text} "
            case "link":
                return self._inline(piece.content)
            case "line_break":
                return "\n"
            case "note_ref":
                return raised(str(self._notes.get(piece.note_id, "")))
            case "checkbox":
                return "☑ " if piece.checked else "☐ "
            case "image":
                self.pictures += 1
                return _alternative(piece.alt or "")
            case _:
                return ""


def _is_struck(piece: Any) -> bool:
    return piece.kind == "text" and bool(piece.style.strike)


def _struck(text: str) -> str:
    """Return a text that is struck through, marked as Markdown does. Without a mark it would pass for valid."""
    words = text.strip()
    return text.replace(words, f"~~{words}~~", 1) if words else text


def _rows(table: Any, text: Callable[[Sequence[Any]], str]) -> list[list[str]]:
    """Return the rows of a table. A cell over several rows counts in each of them.

    A cell over several columns counts once, except in a head whose parts have names of their own below.
    """
    grid = [row[:MAX_COLUMNS] for row in table.grid]
    rows: list[list[str]] = []
    for row in grid:
        cells: list[str] = []
        for column, slot in enumerate(row):
            if slot.kind == "origin":
                cells.append(text(slot.cell.blocks))
            else:
                above = slot.origin_row < len(rows) and slot.origin_col == column
                cells.append(rows[slot.origin_row][column] if above else "")
        rows.append(cells)
    return _one_head(grid, rows)


def _one_head(grid: list[Any], rows: list[list[str]]) -> list[list[str]]:
    """Join a head of two rows, whose first has cells over several columns, to one row."""
    if len(rows) <= 2 or len(rows[1]) != len(rows[0]):
        return rows
    spans = [slot.cell.col_span for slot in grid[0] if slot.kind == "origin"]
    if len(spans) < 2 or max(spans) < 2:
        return rows
    declared = any(slot.kind == "origin" and slot.cell.row_span > 1 for slot in grid[0])
    if not declared and any(
        map(is_figure, rows[1])
    ):  # a row of the body; years below a merged cell are names
        return rows
    above = [
        rows[0][slot.origin_col if slot.kind == "covered" else column] for column, slot in enumerate(grid[0])
    ]
    head = [
        upper if upper == lower else f"{upper} {lower}".strip()
        for upper, lower in zip(above, rows[1], strict=True)
    ]
    if any(not cell and not _names_alone(slot) for cell, slot in zip(rows[1], grid[0], strict=True)):
        return rows
    if len(set(head)) < len(head):
        return rows
    return [head, *rows[2:]]


def _names_alone(slot: Any) -> bool:
    """Whether a cell of the first row is one column's name. The cell below it may be empty, merged or not."""
    return bool(slot.kind == "origin" and slot.cell.col_span == 1)


def _alternative(text: str) -> str:
    """Return an alternative text of a picture, unless it is a file's name or made up by a program."""
    words = " ".join(text.split())
    first, *rest = words.split(" ")
    made_up = first.lower().rstrip("0123456789") in _UNNAMED and all(word.isdigit() for word in rest)
    if not words or made_up or _FILE_NAME.fullmatch(words):
        return ""
    return f" (Picture: {words}) "
