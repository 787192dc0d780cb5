"""Spreadsheets: the rows of an .xlsx as lines with column names. The sheets are sections."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from core.model import Article
from core.reading.office.package import Package
from core.reading.office.safe_xml import attribute, local
from core.reading.office.tables import MAX_COLUMNS, add_rows
from core.reading.text_builder import TextBuilder

_DATE_FORMATS = frozenset(map(str, (*range(14, 23), *range(45, 48))))
"""Built-in number formats of days and times (ECMA-376, 18.8.30)."""
_QUOTED = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
_COLUMN = re.compile(r"([A-Z]{1,3})\d+")


def read_xlsx(body: bytes) -> Article:
    """Read an .xlsx, with the values as last computed.

    Empty cells and sheets are left out.

    Raises:
        Unreadable: when it is damaged, locked, too large unpacked, or holds no text.
    """
    package = Package(body)
    facts, out = package.core_facts(), TextBuilder()
    strings = _strings(package)
    dates = _date_styles(package)
    for sheet, name in package.references("xl/workbook.xml", "sheet"):
        if not attribute(sheet, "state").endswith("idden"):
            out.section(attribute(sheet, "name"))
            add_rows(out, _rows(package.part(name), strings, dates))
    return out.article("xlsx", **facts)


def _rows(sheet: Any, strings: list[str], dates: set[int]) -> Iterator[list[str]]:
    for row in sheet.iter("{*}row"):
        cells: dict[int, str] = {}
        for cell in row:
            if (place := _place(attribute(cell, "r"), len(cells))) < MAX_COLUMNS:
                cells[place] = _cell_text(cell, strings, dates)
        yield [cells.get(place, "") for place in range(max(cells, default=-1) + 1)]


def _cell_text(cell: Any, strings: list[str], dates: set[int]) -> str:
    kind = attribute(cell, "t")
    if kind == "inlineStr":
        return _texts(cell)
    text = cell.findtext("{*}v") or ""
    if kind == "s":
        return strings[int(text)] if text.isdigit() and int(text) < len(strings) else ""
    if kind == "b":
        return "yes" if text == "1" else "no"
    style = attribute(cell, "s")
    if not kind and style.isdigit() and int(style) in dates:
        return _day(text)
    return text.removesuffix(".0")


def _day(number: str) -> str:
    """Return a spreadsheet's day number as a date, with any time. Day 0 is 30 December 1899."""
    try:
        moment = datetime(1899, 12, 30) + timedelta(days=float(number))
    except (ValueError, OverflowError):
        return number
    moment = (moment + timedelta(milliseconds=500)).replace(microsecond=0)
    return moment.isoformat(" ").removesuffix(" 00:00:00")


def _strings(package: Package) -> list[str]:
    name = "xl/sharedStrings.xml"
    return [_texts(entry) for entry in package.part(name).findall("{*}si")] if name in package else []


def _texts(element: Any) -> str:
    """Return an element's text without East Asian reading aids."""
    texts = (inner.text or "" for inner in element.iter("{*}t") if local(inner.getparent()) != "rPh")
    return "".join(texts)


def _date_styles(package: Package) -> set[int]:
    """Return the indexes of the cell styles that show dates."""
    if "xl/styles.xml" not in package:
        return set()
    root = package.part("xl/styles.xml")
    formats = set(_DATE_FORMATS)
    for number_format in root.iter("{*}numFmt"):
        code = _QUOTED.sub("", attribute(number_format, "formatCode")).lower()
        if re.search(r"[ymdhs]", code.partition(";")[0]) and "general" not in code:
            formats.add(attribute(number_format, "numFmtId"))
    styles = root.findall("{*}cellXfs/{*}xf")
    return {place for place, style in enumerate(styles) if attribute(style, "numFmtId") in formats}


def _place(reference: str, otherwise: int) -> int:
    """Return the column index of a cell such as BC17, from 0.

    `otherwise` is returned for another reference.
    """
    column = _COLUMN.fullmatch(reference)
    if column is None:
        return otherwise
    number = 0
    for letter in column[1]:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1
