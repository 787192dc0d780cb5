"""Tables with a selection: the open item is checked wherever it is listed, and numbers have no negative zero."""

from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from core.runtime.registry import RunRegistry
from pages.parts import tables
from tests.pages.conftest import answered, opened
from tests.pages.test_pages import html

pytestmark = pytest.mark.slow


def widget(app: AppTest, key: str) -> str:
    """The key of the widget that a table is now."""
    (found,) = (table.key for table in app.dataframe if (table.key or "").startswith(f"{key}_table_"))
    return str(found)


def click(app: AppTest, key: str, row: int, column: str = "") -> None:
    """Check a row's box, or click its cell in this column: what the browser tells of it, with what was there before."""
    key = widget(app, key)
    before = app.session_state[key]["selection"] if key in app.session_state else {}
    rows = before.get("rows", []) if column else [row]
    cells = [[row, column]] if column else before.get("cells", [])
    app.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": cells}}
    app.run()


def checked(app: AppTest, key: str = "passages") -> list[int]:
    key = widget(app, key)
    found: list[int] = app.session_state[key]["selection"]["rows"] if key in app.session_state else []
    return found


def checked_rank(app: AppTest) -> int:
    (row,) = checked(app)
    return int(passages(app).iloc[row]["rank"])


def passages(app: AppTest, key: str = "passages") -> pd.DataFrame:
    return next(table.value for table in app.dataframe if table.key == widget(app, key))


def reader_rank(app: AppTest) -> int:
    """The rank that the head of the reader tells."""
    (badge,) = (block.value for block in app.markdown if "Rank " in block.value)
    return int("".join(letter for letter in badge.partition("Rank ")[2] if letter.isdigit()))


def test_open_passage_stays_checked_under_filters_and_other_rankings(registry: RunRegistry) -> None:
    run = answered(registry)
    app = opened(run=run.id)
    click(app, "passages", 6, "passage")
    assert not app.exception
    assert checked_rank(app) == reader_rank(app) == 7
    text = str(passages(app).iloc[6]["passage"])
    word = max(text.split(), key=len)
    app.text_input(key="filter_words").set_value(word).run()
    assert len(passages(app)) < len(run.passages)
    assert checked_rank(app) == reader_rank(app) == 7
    app.segmented_control(key="knob_rank_strategy").set_value("bm25").run()
    app.run()
    assert not app.exception
    assert passages(app).iloc[checked(app)[0]]["passage"] == text
    assert checked_rank(app) == reader_rank(app)
    app.text_input(key="filter_words").set_value("zzzz").run()
    assert checked(app) == []
    assert "the filtered table" in html(app)
    app.text_input(key="filter_words").set_value("").run()
    assert passages(app).iloc[checked(app)[0]]["passage"] == text


def test_a_row_is_opened_closed_and_opened_again(registry: RunRegistry) -> None:
    app = opened(run=answered(registry).id)
    for column in ("", "passage"):
        click(app, "passages", 2, column)
        assert reader_rank(app) == 3
        assert checked(app) == [2]
        app.button(key="reader_row_close").click().run()
        assert checked(app) == []
        assert not any("Rank " in block.value for block in app.markdown)
    click(app, "passages", 2, "source")
    click(app, "passages", 4)
    assert checked_rank(app) == reader_rank(app) == 5
    click(app, "passages", 2, "passage")
    assert checked_rank(app) == reader_rank(app) == 3


def test_open_rank_change_stays_checked_when_sides_are_swapped(registry: RunRegistry) -> None:
    app = opened("explain", {"measures": True}, view="what-if", run=answered(registry).id)
    click(app, "rank_changes", 3, "passage")
    assert not app.exception
    text = passages(app, "rank_changes").iloc[3]["passage"]
    app.button(key="swap").click().run()
    (row,) = checked(app, "rank_changes")
    assert passages(app, "rank_changes").iloc[row]["passage"] == text
    app.button(key="reader_rank_changes_close").click().run()
    assert not app.exception
    assert checked(app, "rank_changes") == []


def listing() -> None:
    """A script with a table of 250 items; the session state says in which order, and whether only even ones."""
    import streamlit as st

    from pages.parts import tables

    numbers = [number for number in range(250) if not st.session_state.get("even") or number % 2 == 0]
    if st.session_state.get("falling"):
        numbers.reverse()
    tables.selectable_table(
        numbers,
        lambda number: f"item {number}",
        lambda number: {"number": number},
        {"number": st.column_config.NumberColumn("number")},
        key="items",
        opened="item",
        alt="Items",
    )


def test_a_selection_that_was_replaced_meanwhile_is_no_click() -> None:
    app = AppTest.from_function(listing).run()
    key = widget(app, "items")
    told = {"rows": [], "columns": [], "cells": [[7, "number"]]}
    for _ in range(2):  # told once more before the browser has got the drawing in which the row is checked
        app.session_state[key] = {"selection": dict(told)}
        app.run()
        assert app.session_state["item"] == "item 7"
        assert checked(app, "items") == [7]
    assert widget(app, "items") == key, "a click leaves the table as it is"


def test_event_of_rows_no_longer_listed_is_no_click() -> None:
    app = AppTest.from_function(listing).run()
    click(app, "items", 7, "number")
    old = widget(app, "items")
    app.session_state["falling"] = True
    app.run()
    assert numbers(app)[checked(app, "items")[0]] == 7
    app.session_state[old] = {"selection": {"rows": [], "columns": [], "cells": []}}
    app.run()
    assert app.session_state["item"] == "item 7"
    click(app, "items", 7, "number")
    assert app.session_state["item"] == f"item {numbers(app)[7]}"


def numbers(app: AppTest) -> list[int]:
    return list(app.dataframe[0].value["number"])


def test_long_table_is_paged_and_turns_to_the_open_item() -> None:
    app = AppTest.from_function(listing).run()
    assert numbers(app) == list(range(tables.PAGE_ROWS))
    app.pagination[0].set_value(3).run()
    assert numbers(app) == list(range(200, 250))
    click(app, "items", 10, "number")
    assert app.session_state["item"] == "item 210"
    app.session_state["falling"] = True
    app.run()
    assert numbers(app)[0] == 249, "the page of the open item"
    assert checked(app, "items") == [39]
    app.pagination[0].set_value(2).run()
    assert numbers(app)[0] == 149
    assert checked(app, "items") == [], "a page without the open item has no checked row"
    assert app.session_state["item"] == "item 210"
    app.pagination[0].set_value(1).run()
    assert checked(app, "items") == [39]
    app.session_state["even"] = True
    app.run()
    assert numbers(app)[checked(app, "items")[0]] == 210
    app.session_state["item"] = None
    app.session_state["falling"] = False
    app.run()
    assert numbers(app)[0] == 0
    assert checked(app, "items") == []


@pytest.mark.parametrize(
    ("value", "shown"), [(-0.004, 0.0), (-0.0, 0.0), (-0.006, -0.006), (0.004, 0.004), (None, None)]
)
def test_negative_number_rounding_to_zero_has_no_sign(value: float | None, shown: float | None) -> None:
    columns: dict[str, Any] = {"score": {"type_config": {"type": "number", "format": "%.2f"}}}
    cell = tables.frame([{"score": value}, {"score": 1.0}], ["score"], columns)["score"][0].as_py()
    if shown is None:
        assert cell is None
    else:
        assert (cell, str(cell)[0] == "-") == (shown, shown < 0)
