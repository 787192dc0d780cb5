"""Workbooks of Excel 2003 as one XML file, which business software still writes, often named .xls."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from core.model import Article
from core.reading.office.number_formats import day_number, shown_number, time_format
from core.reading.office.safe_xml import attribute
from core.reading.office.tables import MAX_COLUMNS, add_sheet
from core.reading.text_builder import TextBuilder

_NAMESPACE = "urn:schemas-microsoft-com:office:spreadsheet"
_NAMED = {
    "Percent": "0.00%",
    "Short Date": "m/d/yyyy",
    "Short Time": "h:mm",
    "Long Time": "h:mm:ss",
    "General Date": "m/d/yyyy h:mm",
}
"""Formats that a file names by words, as codes."""


def is_workbook(root: Any) -> bool:
    """Whether an XML document is a workbook of Excel 2003."""
    return isinstance(root.tag, str) and root.tag == f"{{{_NAMESPACE}}}Workbook"


def read_workbook(root: Any) -> Article:
    """Return the visible sheets of a workbook as rows that name their columns."""
    formats = {
        attribute(style, "ID"): attribute(each, "Format")
        for style in root.iterfind("{*}Styles/{*}Style")
        for each in style.iterfind("{*}NumberFormat")
    }
    out = TextBuilder()
    for sheet in root.iterfind("{*}Worksheet"):
        if sheet.findtext("{*}WorksheetOptions/{*}Visible", "").startswith("SheetHidden"):
            continue
        out.section(attribute(sheet, "Name"))
        add_sheet(out, _rows(sheet, formats))
    return out.article("xml workbook")


def _rows(sheet: Any, formats: dict[str, str]) -> Iterator[list[str]]:
    for row in sheet.iterfind("{*}Table/{*}Row"):
        cells: list[str] = []
        for cell in row.iterfind("{*}Cell"):
            place = attribute(cell, "Index")
            blank = int(place) - 1 - len(cells) if place.isdecimal() else 0
            cells += [""] * min(max(blank, 0), MAX_COLUMNS)
            cells.append(_shown(cell, formats))
            across = attribute(cell, "MergeAcross")
            cells += [""] * min(int(across) if across.isdecimal() else 0, MAX_COLUMNS)
        yield cells[:MAX_COLUMNS]


def _shown(cell: Any, formats: dict[str, str]) -> str:
    """Return the value of a cell as its format shows it."""
    data = cell.find("{*}Data")
    if data is None:
        return ""
    text = "".join(data.itertext()).strip()
    code = formats.get(attribute(cell, "StyleID"), "")
    match attribute(data, "Type"):
        case "Boolean":
            return {"1": "TRUE", "0": "FALSE"}.get(text, text)
        case "Number":
            return shown_number(text, _NAMED.get(code, code))
        case "DateTime":
            return _shown_day(text, _NAMED.get(code, code))
    return text


def _shown_day(text: str, code: str) -> str:
    """Return a day or time with the parts of its format, or as ISO 8601 without one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    form = time_format(code)
    shown = form.write(max(day_number(moment), 0.0)) if form else None
    return shown or moment.isoformat(" ", "seconds").removesuffix(" 00:00:00")
