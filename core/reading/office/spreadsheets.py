"""Spreadsheets: the rows of the visible sheets, with the values as the sheets show them."""

import io
import re
import zipfile
from collections import Counter
from datetime import date, datetime, time, timedelta
from typing import Any

from lxml import etree

from core.model import SkipReason, Unreadable
from core.reading import file_types
from core.reading.memory import free_memory
from core.reading.office.converted import ConvertedReader, convert
from core.reading.office.package import Package
from core.reading.office.safe_xml import attribute, xml_tree
from core.reading.office.tables import MAX_COLUMNS, add_sheet
from core.reading.text_builder import TextBuilder

MAX_CELLS = 250_000
"""Cells of a workbook that are read with their number formats."""
_BYTES_PER_CELL = 2_400
"""Memory that the conversion library needs for a cell."""
_BYTES_PER_VALUE = 200
"""Memory that the reader of large sheets needs for a cell."""
_RESERVED = 60_000_000
"""Bytes of a worker that are not for cells."""
_BINARY_CELL = 12
"""Least bytes of a cell in the binary formats."""
_MOST_PLACES = 2_000_000
"""Places in the rectangle around all cells of a sheet, for which both libraries would take memory."""
_CELL = re.compile(rb'<(?:\w+:)?c r="([A-Z]{1,3})(\d{1,7})"')
_OTHER_CELL = re.compile(rb"<(?:\w+:)?(?:c|table-cell)[ />]")
_HIDDEN_ROW = re.compile(rb'<(?:\w+:)?row\s[^>]{0,400}?\bhidden="(?:1|true)"[^>]{0,400}(?<!/)>')
_HIDDEN_COLUMNS = re.compile(rb'<(?:\w+:)?col\s(?![^>]{0,400}max="16384")[^>]{0,400}?\bhidden="(?:1|true)"')
"""Hidden rows with cells, and hidden columns other than all unused ones."""
_UNCALCULATED = re.compile(
    rb"</(?:\w+:)?f>(?:\s*(?:<(?:\w+:)?v\s?/>|<(?:\w+:)?v></(?:\w+:)?v>))?\s*</(?:\w+:)?c>"
)
"""The end of a cell whose formula has no stored value, as programs without a calculation write it."""
_DRAWING = re.compile(r"xl/drawings/drawing\d*\.xml")
_SHEETS = re.compile(r"xl/worksheets/[^/]+\.(?:xml|bin)|content\.xml")
WITHOUT_FORMATS = "it has so many cells that number formats were not applied"


class Workbook:
    """A workbook with the names of its sheets."""

    def __init__(self, body: bytes, media_type: str) -> None:
        """Open a package as prepared, or a file of the old format. Raises Unreadable: TOO_LARGE for the memory."""
        self._cells, self._places = _extent(body, media_type)
        if media_type == file_types.XLSX and self._places > _MOST_PLACES:
            body = _compact(body)
            self._cells, self._places = _extent(body, media_type)
        free = free_memory()
        if free is not None and self._cells * _BYTES_PER_VALUE + 2 * len(body) > free:
            detail = (
                "the spreadsheet needs more memory than a worker has (OPENQUERY_MEMORY_MB); save it as .csv"
            )
            raise Unreadable(SkipReason.TOO_LARGE, detail)
        self._body, self._media_type = body, media_type
        self._workbook = _opened(body)
        self.unread: Counter[str] = Counter()
        """Rows, columns and formulas that were left out."""
        self.notices: list[str] = []
        """Notes about differences from the sheets on screen."""
        states = (
            [(sheet.name, sheet.visible) for sheet in self._workbook.sheets_metadata]
            if self._workbook
            else []
        )
        self._visible = [name for name, state in states if str(state).endswith(".Visible")]
        self.hidden_sheets = [name for name, _ in states if name not in self._visible]

    def write(self, out: TextBuilder) -> None:
        """Write the sheets. Raises Unreadable: when the workbook is damaged or too large."""
        free = free_memory()
        affordable = MAX_CELLS if free is None else (free - _RESERVED) // _BYTES_PER_CELL
        if self._cells <= min(MAX_CELLS, affordable):
            self._write_formatted(out)
        else:
            self._write_values(out)

    def _write_formatted(self, out: TextBuilder) -> None:
        document = convert(self._body, self._media_type)
        headed = any(block.kind == "heading" for block in document.blocks)
        if not headed and len(self._visible) == 1:
            out.section(self._visible[0])
        ConvertedReader(document, out, sheets=True, hidden_sheets=self.hidden_sheets)
        if self._media_type == file_types.XLSX:
            self._write_drawn(out)

    def _write_drawn(self, out: TextBuilder) -> None:
        """Write the text boxes, and count hidden rows and columns and empty formulas, which the library leaves out."""
        package = Package(self._body)
        for name in package.names:
            if _DRAWING.fullmatch(name):
                for shape in package.part(name).iter("{*}sp"):
                    for paragraph in shape.iter("{*}p"):
                        out.block("".join(paragraph.itertext("{*}t", with_tail=False)))
            elif _SHEETS.fullmatch(name):
                part = package.read(name)
                self.unread["hidden row"] += len(_HIDDEN_ROW.findall(part))
                self.unread["hidden column"] += len(_HIDDEN_COLUMNS.findall(part))
                self.unread["uncalculated formula"] += len(_UNCALCULATED.findall(part))

    def _write_values(self, out: TextBuilder) -> None:
        """Write the values of a large workbook row by row."""
        if self._workbook is None or self._places > _MOST_PLACES:
            raise Unreadable(SkipReason.TOO_LARGE, "too many cells, or cells too far apart; save it as .csv")
        self.notices.append(WITHOUT_FORMATS)
        for name in self._visible:
            out.section(name)
            try:
                sheet = self._workbook.get_sheet_by_name(name)
            except Exception:  # the library raises errors of several kinds for one damaged sheet
                self.notices.append(f"sheet {name} is damaged")
                continue
            add_sheet(out, ([_value(cell) for cell in row] for row in sheet.iter_rows()))
            if out.full:
                return


def _opened(body: bytes) -> Any:
    """The workbook in the reader of large sheets, or None if it cannot be opened or the reader is missing."""
    try:
        import python_calamine
    except ImportError:
        return None
    try:
        return python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(body))
    except Exception:  # the library raises errors of several kinds
        return None


def _extent(body: bytes, media_type: str) -> tuple[int, int]:
    """Return the number of cells, and the most places in the rectangle around the cells of a sheet."""
    if media_type == file_types.XLS:
        return len(body) // _BINARY_CELL, 0
    package = Package(body)
    cells = places = 0
    for name in package.names:
        if not _SHEETS.fullmatch(name):
            continue
        part = package.read(name)
        if name.endswith(".bin"):
            cells += len(part) // _BINARY_CELL
            continue
        columns: dict[bytes, None] = {}
        count, last = 0, 0
        for match in _CELL.finditer(part):
            count += 1
            columns[match[1]] = None
            last = max(last, int(match[2]))
        cells += count or len(_OTHER_CELL.findall(part))
        places = max(places, last * max(map(_column, columns), default=0))
    return cells, places


def _compact(body: bytes) -> bytes:
    """Return a workbook whose rows follow each other, without the columns beyond the limit.

    A stray cell in the last corner of a sheet would else need room for all cells before it.
    """
    package, target = Package(body), io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in package.names:
            part = package.read(name)
            if _SHEETS.fullmatch(name):
                root = xml_tree(part)
                for number, row in enumerate(root.iterfind("{*}sheetData/{*}row"), 1):
                    _renumber(row, number)
                for merged in root.iterfind("{*}mergeCells"):
                    root.remove(merged)
                part = etree.tostring(root)
            archive.writestr(zipfile.ZipInfo(name), part)
    return target.getvalue()


def _renumber(row: Any, number: int) -> None:
    row.set("r", str(number))
    for cell in list(row):
        letters = attribute(cell, "r").rstrip("0123456789")
        if _column(letters.encode("ascii", "replace")) > MAX_COLUMNS:
            row.remove(cell)
        elif letters:
            cell.set("r", f"{letters}{number}")


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def _value(cell: Any) -> str:
    match cell:
        case bool():
            return "TRUE" if cell else "FALSE"
        case float():
            return repr(cell).removesuffix(".0")
        case datetime():
            return cell.isoformat(" ").removesuffix(" 00:00:00")
        case timedelta():
            seconds = round(cell.total_seconds())
            return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        case date() | time():
            return cell.isoformat()
        case _:
            return str(cell)
