"""Values as charts and sheets show them, where the conversion library does not: formats, hidden rows and columns."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from core.reading.office.safe_xml import attribute, local

_HIDDEN = ("collapse", "filter")
_LITERALS = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.')
_DECIMALS = re.compile(r"\.([0#?]*)")
_DATE = re.compile(r"[dy]", re.IGNORECASE)
_DURATION = re.compile(
    r"(?:(?P<hours>\[h+\]|h+):)?(?P<minutes>\[m+\]|m+)(?::(?P<seconds>s+)(?:\.(?P<places>0+))?)?|(?P<all>\[s+\])",
    re.IGNORECASE,
)
_GENERAL = "general"
_EPOCH, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
_LAST_DAY = 2_958_465


def show_chart_values(root: Any) -> None:
    """Write percentages and dates of a chart as its format shows them. Other numbers stay as they are."""
    switch = root.find("{*}date1904")
    epoch = _EPOCH_1904 if switch is not None and attribute(switch, "val") not in ("0", "false") else _EPOCH
    for cache in root.iter("{*}numCache"):
        code = cache.findtext("{*}formatCode") or ""
        for point in cache.iterfind("{*}pt"):
            value = point.find("{*}v")
            if value is not None and value.text:
                value.text = _shown(value.text, attribute(point, "formatCode") or code, epoch)


def _shown(value: str, code: str, epoch: datetime) -> str:
    code = _LITERALS.sub("", code).partition(";")[0]
    try:
        number = float(value)
    except ValueError:
        return value
    if "%" in code:
        decimals = _DECIMALS.search(code)
        return f"{number:.{len(decimals[1]) if decimals else 0}%}"
    if code.lower() != _GENERAL and _DATE.search(code) and 0 < number <= _LAST_DAY:
        return (epoch + timedelta(days=number)).isoformat(" ", "minutes").removesuffix(" 00:00")
    return value


def duration_formats(styles: Any) -> dict[str, re.Match[str]]:
    """Return the formats of durations that the library lacks, by the number of the cell's style.

    They count minutes or seconds beyond an hour, or show parts of a second.
    """
    codes = {attribute(each, "numFmtId"): attribute(each, "formatCode") for each in styles.iter("{*}numFmt")}
    formats: dict[str, re.Match[str]] = {}
    for number, cell in enumerate(styles.iterfind("{*}cellXfs/{*}xf")):
        code = codes.get(attribute(cell, "numFmtId"), "").partition(";")[0]
        form = _DURATION.fullmatch(code)
        if form and (form["all"] or form["places"] or form["minutes"].startswith("[")):
            formats[str(number)] = form
    return formats


def show_durations(root: Any, formats: dict[str, re.Match[str]]) -> None:
    """Write the durations of a worksheet in these formats as text."""
    for cell in root.iter("{*}c"):
        form, value = formats.get(attribute(cell, "s")), cell.find("{*}v")
        if form and value is not None and attribute(cell, "t") in ("", "n"):
            try:
                value.text = _duration(float(value.text or ""), form)
            except ValueError:
                continue
            cell.set("t", "str")


def _duration(days: float, form: re.Match[str]) -> str:
    places = len(form["places"] or "")
    seconds = round(abs(days) * 86_400, places)
    sign = "-" if days < 0 else ""
    if form["all"]:
        return f"{sign}{seconds:.0f}"
    hours, minutes = divmod(int(seconds // 60), 60)
    if form["minutes"].startswith("["):
        hours, minutes = 0, hours * 60 + minutes
    elif form["hours"] and not form["hours"].startswith("["):
        hours %= 24
    shown = f"{hours}:{minutes:02}" if form["hours"] else f"{minutes:02}"
    width = 2 + (places + 1 if places else 0)
    return sign + shown + (f":{seconds % 60:0{width}.{places}f}" if form["seconds"] else "")


def remove_hidden_cells(root: Any) -> Counter[str]:
    """Remove the hidden rows and columns of the sheets of an OpenDocument file, and count those with text."""
    counts: Counter[str] = Counter()
    for table in root.iterfind("{*}body/{*}spreadsheet/{*}table"):
        for row in list(table.iter("{*}table-row")):
            if attribute(row, "visibility") in _HIDDEN:
                counts["hidden row"] += _has_text(row) * _repeated(row, "rows")
                row.getparent().remove(row)
        hidden = [
            places
            for column, places in _placed(table.iter("{*}table-column"))
            if attribute(column, "visibility") in _HIDDEN
        ]
        counted = dict.fromkeys(hidden, False)
        for row in table.iter("{*}table-row") if hidden else ():
            cells = (cell for cell in list(row) if local(cell) in ("table-cell", "covered-table-cell"))
            for cell, places in _placed(cells):
                within = [each for each in hidden if each.start <= places.start and places.stop <= each.stop]
                if within:
                    counted[within[0]] |= _has_text(cell)
                    row.remove(cell)
        counts["hidden column"] += sum(len(places) for places, text in counted.items() if text)
    return counts


def _has_text(element: Any) -> bool:
    return any(text.strip() for text in element.itertext())


def _repeated(element: Any, what: str) -> int:
    number = attribute(element, f"number-{what}-repeated")
    return int(number) if number.isdecimal() else 1


def _placed(elements: Iterator[Any]) -> Iterator[tuple[Any, range]]:
    """Yield columns or cells with the columns that they fill."""
    start = 0
    for element in elements:
        stop = start + _repeated(element, "columns")
        yield element, range(start, stop)
        start = stop
