"""Tables: formatted numbers, and tables with one open item."""

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
import streamlit as st

from core.text.sanitize import one_line, pluralize
from pages.parts import browser, markup

T = TypeVar("T")

ROW_HEIGHT = 33
"""Pixels."""
NARROW_ROW_HEIGHT, NARROW_ROWS = 80, 7
"""Pixels of a row, and number of visible rows, on a narrow screen.

Text wraps there, like in rows of more than 4 rem.
"""
NARROW_COLUMN, NARROW_TEXT = 160, 84
"""Pixels of the widest column on a narrow screen, and its visible characters."""
PAGE_ROWS = 100
"""Rows to send to the browser at once. The others are on later pages."""
OUTDATED = 1.0
"""Seconds in which the browser may still send the selection that a drawing replaced."""
_DIGITS = re.compile(r"%\+?\.(\d+)f")


def frame(rows: Sequence[Any], columns: Sequence[str], config: Mapping[str, Any] | None = None) -> pa.Table:
    """Return rows as an Arrow table that never shows -0.00. Rows are tuples or mappings by column.

    A negative number that its column's format rounds to zero becomes zero. All others stay unchanged.
    """
    by_name = bool(rows) and isinstance(rows[0], Mapping)
    cells = {name: [row[name if by_name else place] for row in rows] for place, name in enumerate(columns)}
    for name, column in cells.items():
        if (digits := _digits((config or {}).get(name))) is not None:
            cells[name] = [
                0.0 if cell is not None and cell <= 0 and not round(cell, digits) else cell for cell in column
            ]
    return pa.table({name: _column(column) for name, column in cells.items()})


def _column(cells: list[Any]) -> pa.Array:
    """Return a column as an Arrow array. Repeated texts, such as titles and addresses, are sent once."""
    column = pa.array(cells)
    is_repeated = pa.types.is_string(column.type) and 2 * len(set(cells)) < len(cells)
    return column.dictionary_encode() if is_repeated else column


def _digits(config: Any) -> int | None:
    """Return a number column's digits after the point, or None."""
    of_type = config.get("type_config") if isinstance(config, Mapping) else None
    digits = _DIGITS.fullmatch(str((of_type or {}).get("format")))
    return int(digits[1]) if digits else None


def row_height() -> int:
    """Return the pixels of a row.

    It has one line of text, or four on a narrow screen, because columns are narrow too.
    """
    return NARROW_ROW_HEIGHT if browser.is_narrow() else ROW_HEIGHT


def fitted(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the column configuration for the screen.

    A narrow screen limits the widths, so that more columns are visible.
    """
    if not browser.is_narrow():
        return dict(columns)

    def width(config: Any) -> int:
        width = config.get("width")
        return width if isinstance(width, int) else NARROW_COLUMN

    return {
        name: {**config, "width": min(NARROW_COLUMN, width(config))} if config.get("width") else config
        for name, config in columns.items()
    }


def height(rows: int, most: int) -> int:
    """Return the pixels of a table with at most `most` visible rows. It is at least two rows high."""
    most = min(most, NARROW_ROWS) if browser.is_narrow() else most
    return min(most, max(rows, 2)) * row_height() + ROW_HEIGHT + 6


def characters_in_view(limit: int) -> int:
    """Return the characters in view, at most `limit`. A narrow screen shows fewer."""
    return min(limit, NARROW_TEXT) if browser.is_narrow() else limit


def text_in_view(text: str, limit: int) -> str:
    """Return a text's beginning on one line. `characters_in_view` sets its length."""
    return one_line(text, characters_in_view(limit))


def rows_key(name: str, ids: Sequence[str]) -> str:
    """Return a widget key for a table with these rows.

    Other rows need another key, or Streamlit would select them.
    """
    return f"{name}_{hash(tuple(ids)):x}"


# --- a table of which one row is open ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Selection:
    """The checked row of a table and its marked cell.

    Both are in the same row unless a click moved one of them.
    """

    row: int | None = None
    cell: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The browser's copy of a table: widget, row ids and selection.

    `before` is the selection that this drawing replaced. The browser may send it once more, if it requests
    another drawing before it has received this one.
    """

    widget: str
    ids: tuple[str, ...]
    selection: _Selection
    before: _Selection | None
    at: float
    """Seconds of the monotonic clock."""


def selectable_table(
    items: Sequence[T],
    identify: Callable[[T], str],
    cells: Callable[[T], Mapping[str, Any]],
    columns: Mapping[str, Any],
    *,
    key: str,
    opened: str,
    alt: str,
    order: Sequence[str] | None = None,
    max_rows: int = 9,
    beside_pages: Callable[[], None] | None = None,
) -> None:
    """Draw a table in which at most one item is open.

    A click on a cell, an arrow key or a row's box opens its item. Streamlit keeps a selection by row number.
    Here the open item's id decides, so its row stays checked under every filter, order and page. A change of
    the listed items, or of the open item, turns to the page of the open item.

    Args:
        items: all items, in order. Only `PAGE_ROWS` of them are sent to the browser.
        identify: returns an item's id, unique in the table and equal in every order.
        cells: returns an item's cells by column.
        columns: the column configuration by column.
        key: the key of the container around the table, and prefix of the state.
        opened: the session key of the open item's id. The value None, or a missing key, means that no item is open.
        alt: the accessible name of the table.
        order: the columns shown at first. None means all.
        max_rows: visible rows.
        beside_pages: draws controls next to the page control, if the table has several pages.
    """
    drawn: _Drawn | None = st.session_state.get(f"{key}_drawn")
    outdated = drawn is not None and _is_outdated(drawn)
    clicked = drawn is not None and not outdated and _open_clicked(drawn, opened)
    ids = [identify(item) for item in items]
    open_id = st.session_state.get(opened)
    place = ids.index(open_id) if open_id in ids else None
    pages = max(1, math.ceil(len(ids) / PAGE_ROWS))
    page = _page(key, ids, open_id, place, pages)
    start = PAGE_ROWS * (page.number - 1)
    page_items, shown_ids = items[start : start + PAGE_ROWS], tuple(ids[start : start + PAGE_ROWS])
    row = None if place is None or not start <= place < start + len(page_items) else place - start
    # The table is a new widget if its rows change, or an item was opened or closed elsewhere: the browser's
    # late messages about the old widget, such as a selection that it clears with its rows, then reach nobody.
    is_kept = drawn and drawn.ids == shown_ids and (clicked or drawn.selection.row == row)
    number = int(drawn.widget.rpartition("_")[2]) + 1 if drawn else 0
    widget = drawn.widget if drawn and is_kept else f"{key}_table_{number}"
    selected = _selection(widget)
    selection = _check(widget, row, next(iter(columns)))
    with st.container(key=key):  # for styles: the class of the table itself changes with its widget
        st.dataframe(
            frame([cells(item) for item in page_items], list(columns), columns),
            key=widget,
            height=height(len(page_items), max_rows),
            row_height=row_height(),
            hide_index=True,
            column_order=order,
            column_config=fitted(columns),
            on_select="rerun",
            selection_mode=("single-row", "single-cell"),
            placeholder="",
            alt=alt,
        )
    before = None if outdated or selected == selection else selected
    st.session_state[f"{key}_drawn"] = _Drawn(
        widget, shown_ids, selection, before if is_kept else None, time.monotonic()
    )
    if pages > 1:
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}_pages"):
            st.pagination(pages, default=page.number, key=page.control, max_visible_pages=5)
            listed = f"{start + 1:,}–{start + len(page_items):,} of {pluralize(len(ids), 'row')}"
            markup.show(markup.section_heading("", listed), width="stretch")
            if beside_pages:
                beside_pages()


@dataclass(frozen=True, slots=True)
class _Page:
    """The shown page of a table, from 1, and its control's key.

    `listed` is a hash of the listed ids. A page that is not turned to by hand gets a new control.
    """

    number: int
    control: str
    listed: int
    open_id: object


def _page(key: str, ids: Sequence[str], open_id: object, place: int | None, pages: int) -> _Page:
    """Return the page to show.

    It is the open item's page if the item or the list has changed, else the chosen page.
    """
    listed = hash(tuple(ids))
    before: _Page = st.session_state.get(f"{key}_page") or _Page(1, f"{key}_page_0", 0, None)
    chosen: int = st.session_state.get(before.control, before.number)
    number = chosen
    if place is not None and (listed, open_id) != (before.listed, before.open_id):
        number = place // PAGE_ROWS + 1
    elif listed != before.listed:
        number = 1
    number = min(number, pages)
    turns = int(before.control.rpartition("_")[2]) + (number != chosen)
    page = _Page(number, f"{key}_page_{turns}", listed, open_id)
    st.session_state[f"{key}_page"] = page
    return page


def _is_outdated(drawn: _Drawn) -> bool:
    """Whether the browser sent the selection before the latest drawing. That is not a click."""
    return _selection(drawn.widget) == drawn.before and time.monotonic() - drawn.at < OUTDATED


def _open_clicked(drawn: _Drawn, opened: str) -> bool:
    """Open the item that was checked or clicked since the drawing. Unchecking closes it.

    Returns whether an item was checked, clicked or unchecked.
    """
    if drawn.widget not in st.session_state:
        return False
    selection = _selection(drawn.widget)
    row = selection.row
    if selection.cell is not None and selection.cell != drawn.selection.cell:
        row = selection.cell[0]
    elif row == drawn.selection.row:
        return False
    st.session_state[opened] = drawn.ids[row] if row is not None and row < len(drawn.ids) else None
    return True


def _check(widget: str, row: int | None, column: str) -> _Selection:
    """Check only this row, and mark its cell. The marked column is kept for the arrow keys.

    Row and cell change together here, and a click changes only one of them. So a click can be distinguished
    from a replaced selection.
    """
    selection = _selection(widget)
    target = (
        _Selection()
        if row is None
        else _Selection(row, (row, selection.cell[1] if selection.cell else column))
    )
    if selection != target:
        rows, cells = ([], []) if target.cell is None else ([row], [target.cell])
        st.session_state[widget] = {"selection": {"rows": rows, "columns": [], "cells": cells}}
    return target


def _selection(widget: str) -> _Selection:
    """Return a table's latest selection in the browser."""
    selection = (st.session_state.get(widget) or {}).get("selection", {})
    rows, cells = selection.get("rows") or [], selection.get("cells") or []
    return _Selection(rows[0] if rows else None, (cells[0][0], cells[0][1]) if cells else None)
