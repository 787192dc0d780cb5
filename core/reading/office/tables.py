"""Tables as text: one line per row, with column names. A row alone is then understandable."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, islice

from core.model import Article, SkipReason, Unreadable
from core.reading.text_builder import TextBuilder
from core.text.delimited import MalformedRow, delimited_rows

_NUMBER = re.compile(r"[-+(]?[\d.,\s%€$£]*\d[\d.,\s%€$£)]*")
_YEAR = re.compile(r"(?:1[89]|20)[0-9]{2}")
MAX_COLUMNS = 1_000
_MOST_ABOVE = 10
"""Lines above the table of a sheet, with blank lines."""
_HEADED_FROM = 3
"""Minimum columns for an unmarked first row to name them."""


def read_table(text: str) -> Article:
    """Read a table with comma, semicolon, tab or bar as delimiter.

    The first row of several cells names the columns, unless it holds figures. Lines above it are paragraphs.

    Raises:
        Unreadable: BROKEN when it is no table.
    """
    out = TextBuilder()
    try:
        add_sheet(out, (cells for _, cells in delimited_rows(text)))
    except MalformedRow as error:
        raise Unreadable(SkipReason.BROKEN, f"no table: {error}") from error
    return out.article("table")


def add_rows(out: TextBuilder, rows: Iterable[Sequence[str]], *, headed: bool = False) -> None:
    """Add rows as lines of `column: cell`. Empty cells and empty rows are left out.

    The first row names the columns if it is marked as `headed`, or looks like names.
    """
    columns: list[str] | None = None
    below = False
    filled = filter(any, ([" ".join(cell.split()) for cell in row[:MAX_COLUMNS]] for row in rows))
    first = list(islice(filled, 2))
    for cells in chain(first, filled):
        if columns is None:
            is_head = headed or _names_columns(cells) or (len(first) > 1 and _names_years(*first))
            columns = cells if is_head else []
            if columns:
                continue
        below = True
        out.block(_line(columns, cells), row=True)
        if out.full:
            return
    if columns and not below:
        out.row(columns)


def add_sheet(out: TextBuilder, rows: Iterable[Sequence[str]]) -> None:
    """Add the rows of a sheet. Lines above the table, such as its title, are paragraphs."""
    rest = iter(rows)
    above: list[Sequence[str]] = []
    for row in rest:
        if sum(map(bool, row)) > 1:
            for line in above:
                out.block(" ".join(filter(None, line)))
            add_rows(out, chain([row], rest))
            return
        above.append(row)
        if len(above) > _MOST_ABOVE:
            break
    add_rows(out, chain(above, rest))


def add_table(out: TextBuilder, rows: Iterable[Sequence[str]], *, headed: bool = False) -> None:
    """Add a table of a document.

    Its first row names the columns if it is marked as `headed`, or if the table has three columns or more: a
    table of two columns often holds a name and a value in each row. Other rows are written as their cells.
    """
    table = list(rows)
    if len(table) > 1 and (headed or max(map(len, table)) >= _HEADED_FROM):
        add_rows(out, table, headed=headed)
    else:
        for row in table:
            out.row(row[:MAX_COLUMNS])


def _line(columns: Sequence[str], cells: Sequence[str]) -> str:
    pairs = (
        (columns[place] if place < len(columns) else "", cell) for place, cell in enumerate(cells) if cell
    )
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs)


def is_figure(cell: str) -> bool:
    """Whether a cell holds nothing but a number, with its signs."""
    return _NUMBER.fullmatch(cell) is not None


def _names_columns(cells: Sequence[str]) -> bool:
    """Whether cells look like column names.

    Names are complete, except perhaps the first, differ, and are not figures.
    """
    names = [cell for cell in cells if cell]
    return (
        len(names) >= max(1, len(cells) - 1)
        and len(set(names)) == len(names)
        and not any(map(is_figure, names))
        and max(map(len, names)) <= 200
    )


def _names_years(cells: Sequence[str], below: Sequence[str]) -> bool:
    """Whether cells are column names and years in their order, as of a series.

    Years in the row below would make both rows data.
    """
    years = [place for place, cell in enumerate(cells) if _YEAR.fullmatch(cell)]
    names = [cell for cell in cells if cell and not _YEAR.fullmatch(cell)]
    numbers = [int(cells[place]) for place in years]
    others = [below[place] for place in years if place < len(below) and below[place]]
    if not others or not years[0] or all(map(_YEAR.fullmatch, others)):
        return False
    in_order = numbers in (sorted(set(numbers)), sorted(set(numbers), reverse=True))
    is_series = in_order and len(years) > 1 and (cells[0] != "" or not is_figure(below[0]))
    return (is_series or len(names) > 1) and (not names or _names_columns(names))
