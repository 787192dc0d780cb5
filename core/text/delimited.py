"""Read delimited text (CSV and its relatives) as spreadsheets write it, for documents and data sets alike."""

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import islice
from typing import Any

import regex as re

from core.errors import OpenQueryError

LONGEST_CELL = 1_000_000
"""The most characters of a cell."""
_DELIMITERS = "\t;|,"
"""In order of preference if several split the rows equally well. Commas are common in prose and in numbers."""
_LOOKED_AT = 20
"""The number of rows that decide the delimiter."""
_IN_NO_TABLE = "\x1f"
"""A delimiter that leaves each row whole."""
_OPENED = re.compile(r"^\"|\t\"", re.MULTILINE)
_QUOTED = re.compile(r"(?:^|(?<=\t))\"[^\"\t]*+(?:\"\"[^\"\t]*+)*+\"(?=[\t\r\n]|\Z)", re.MULTILINE)
"""A whole cell between tabs in quotation marks."""
_DECIMAL = re.compile(r"[-+]?[0-9]+,[0-9]+")
_SEPARATOR_LINE = re.compile(
    r"\ufeff?\"?sep=(?P<delimiter>[^\"\r\n])\"?[ \t]*(?:\r\n|\r|\n|\Z)", re.IGNORECASE
)


class MalformedRow(OpenQueryError):
    """A row that no CSV reader accepts. `line` is its last line, counted from 1."""

    def __init__(self, line: int, problem: str) -> None:
        """Keep the line, with the problem as the message."""
        super().__init__(problem)
        self.line = line


def delimited_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the last line and the cells of every row that is not empty.

    The delimiter is the one that the line `sep=` names, or else a tab, semicolon, bar or comma, whichever divides the
    first rows best. Blanks around a cell are removed, as is a byte order mark.

    Raises:
        MalformedRow: for a quotation mark without end, or a cell that is too long.
    """
    named = _SEPARATOR_LINE.match(text)
    body = text[named.end() :] if named else text.removeprefix("\ufeff")
    first = 1 if named else 0
    delimiter = named["delimiter"] if named else _best_delimiter(body)
    csv.field_size_limit(LONGEST_CELL)  # of the whole process
    reader = _reader(body, delimiter)
    try:
        for row in reader:
            if any(cells := [cell.strip() for cell in row]):
                yield reader.line_num + first, cells
    except csv.Error as error:
        raise MalformedRow(reader.line_num + first, str(error)) from error


def column_places(head: Sequence[str]) -> dict[str, int]:
    """Map the names of columns to their places. Case and white space do not count, and the first of equal names does."""
    places: dict[str, int] = {}
    for place, name in enumerate(head):
        places.setdefault(folded_column(name), place)
    return places


def folded_column(name: str) -> str:
    """Return a column's name for comparison."""
    return " ".join(name.replace("\ufeff", "").replace("\u200b", "").split()).casefold()


def _reader(text: str, delimiter: str) -> Any:
    """Return a reader of rows.

    Between tabs a quotation mark is a character unless each that begins a cell ends one.
    """
    table = StringIO(text, newline="")
    if delimiter != "\t":
        return csv.reader(table, delimiter=delimiter, skipinitialspace=True)
    plain = len(_OPENED.findall(text)) != len(_QUOTED.findall(text))
    return csv.reader(table, delimiter=delimiter, quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL)


def _is_column_of_decimals(text: str) -> bool:
    """Whether each of the first lines below the first one is a number with a decimal comma."""
    lines = [line for line in islice(StringIO(text), 1, _LOOKED_AT) if line.strip()]
    return bool(lines) and all(_DECIMAL.fullmatch(line.strip()) for line in lines)


def _best_delimiter(text: str) -> str:
    """Return the delimiter that gives most of the first rows as many cells as the first row, and many cells.

    The first row usually names the columns, and so has no delimiter inside of a name.
    """
    best, best_fit = ",", (0.0, 0)
    for delimiter in _DELIMITERS:
        try:
            rows = islice(_reader(text, delimiter), _LOOKED_AT)
            widths = [len(row) for row in rows if any(row) and not row[0].startswith("#")]
        except csv.Error:
            continue
        if not widths or max(widths) == 1:
            continue
        if delimiter == "," and widths[0] == 1 and _is_column_of_decimals(text):
            return _IN_NO_TABLE
        width = widths[0] if widths[0] > 1 else max(widths)
        fit = sum(other == width for other in widths) / len(widths), width
        if fit > best_fit:
            best, best_fit = delimiter, fit
    return best
