"""Spreadsheets: the rows of an .xlsx as lines that name their columns, with the sheets as sections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from core.model import Article
from core.reading.office.docx import UNPACKED_LIMIT, core_facts, part
from core.reading.office.pptx import related
from core.reading.office.safe_xml import attribute, child, children, local
from core.reading.office.tables import add_rows
from core.reading.text_builder import TextBuilder
from core.reading.zip_archive import Archive

_WORKBOOK = "xl/workbook.xml"
_DATE_FORMATS = frozenset((*range(14, 23), *range(45, 48)))
"""The built-in number formats that show days and times (ECMA-376, 18.8.30)."""
_QUOTED = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
_COLUMN = re.compile(r"([A-Z]{1,3})\d+")
_MAX_COLUMNS = 1_000


def read_xlsx(body: bytes) -> Article:
    """Values as they were last computed; empty cells and sheets are left out.

    Raises:
        Unreadable: when it is damaged, locked, too large unpacked, or holds no text.
    """
    archive = Archive(body, UNPACKED_LIMIT)
    facts, out = core_facts(archive), TextBuilder()
    strings = _strings(archive)
    dates = _date_styles(archive)
    targets = related(archive, _WORKBOOK)
    for sheet in part(archive, _WORKBOOK).iter():
        references = [str(value) for key, value in sheet.attrib.items() if str(key).endswith("}id")]
        if local(sheet) != "sheet" or attribute(sheet, "state").endswith("idden") or not references:
            continue
        if (name := targets.get(references[0])) and name in archive:
            out.section(attribute(sheet, "name"))
            add_rows(out, _rows(part(archive, name), strings, dates))
    return out.article("xlsx", title=facts["title"], author=facts["creator"], date=facts["created"])


def _rows(sheet: Any, strings: list[str], dates: set[int]) -> Iterator[list[str]]:
    for row in sheet.iter():
        if local(row) != "row":
            continue
        cells: dict[int, str] = {}
        for cell in row:
            if (place := _place(attribute(cell, "r"), len(cells))) < _MAX_COLUMNS:
                cells[place] = _value(cell, strings, dates)
        yield [cells.get(place, "") for place in range(max(cells, default=-1) + 1)]


def _value(cell: Any, strings: list[str], dates: set[int]) -> str:
    kind = attribute(cell, "t")
    if kind == "inlineStr":
        return _texts(cell)
    value = child(cell, "v")
    text = "" if value is None else value.text or ""
    if kind == "s":
        return strings[int(text)] if text.isdigit() and int(text) < len(strings) else ""
    if kind == "b":
        return "yes" if text == "1" else "no"
    style = attribute(cell, "s")
    if not kind and style.isdigit() and int(style) in dates:
        return _day(text)
    return text.removesuffix(".0")


def _day(number: str) -> str:
    """Days since the last one of 1899 as a date, with the time when there is one."""
    try:
        moment = datetime(1899, 12, 30) + timedelta(days=float(number))
    except (ValueError, OverflowError):
        return number
    moment = (moment + timedelta(milliseconds=500)).replace(microsecond=0)
    return moment.isoformat(" ").removesuffix(" 00:00:00")


def _strings(archive: Archive) -> list[str]:
    name = "xl/sharedStrings.xml"
    if name not in archive:
        return []
    return [_texts(one) for one in part(archive, name) if local(one) == "si"]


def _texts(element: Any) -> str:
    """Its text without the reading aids of East Asian scripts."""
    return "".join(
        inner.text or ""
        for inner in element.iter()
        if local(inner) == "t" and local(inner.getparent()) != "rPh"
    )


def _date_styles(archive: Archive) -> set[int]:
    """The cell styles that show a number as a date."""
    if "xl/styles.xml" not in archive:
        return set()
    root = part(archive, "xl/styles.xml")
    formats = set(_DATE_FORMATS)
    for one in root.iter():
        if local(one) == "numFmt" and attribute(one, "numFmtId").isdigit():
            code = _QUOTED.sub("", attribute(one, "formatCode")).lower()
            if re.search(r"[ymdhs]", code.partition(";")[0]) and "general" not in code:
                formats.add(int(attribute(one, "numFmtId")))
    return {
        place
        for place, style in enumerate(children(child(root, "cellXfs")))
        if attribute(style, "numFmtId").isdigit() and int(attribute(style, "numFmtId")) in formats
    }


def _place(reference: str, otherwise: int) -> int:
    """The column of a cell such as BC17, counted from 0."""
    named = _COLUMN.fullmatch(reference)
    if named is None:
        return otherwise
    number = 0
    for letter in named[1]:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1
