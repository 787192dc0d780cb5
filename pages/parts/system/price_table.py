"""The price table of the System page, which operators may change."""

from collections.abc import Callable
from datetime import date

import pandas as pd
import streamlit as st

from core.config.permissions import Action
from core.config.prices import COLUMNS, LONGEST_NAME, MOST_DOLLARS, Price, checked_price
from core.text.markdown.safe_markdown import markdown_label
from pages.parts import markup, runtime, widgets
from pages.parts.problems import shown

HELP = (
    "In US dollars a million tokens. Estimates marked with ~ are made from these, where a provider does not state a cost. "
    "Providers change their prices: check them."
)


def price_table() -> None:
    """Draw the prices with their date; an operator may change them, and go back to those of OpenQuery."""
    file = runtime.runs().engine.prices
    prices = file.read()
    markup.show(markup.kicker("Model prices", prices.dated))
    if prices.problem:
        st.warning(markdown_label(prices.problem, 400), icon=":material/error:")
    editable = runtime.caller().may(Action.SET_PRICES)
    rows = pd.DataFrame(
        [[getattr(row, name) for name in COLUMNS] for row in prices.rows], columns=list(COLUMNS)
    )
    column = st.column_config
    edited = st.data_editor(
        rows,
        key=f"prices_{hash(prices.rows)}",  # what was typed into another table is not put into this one
        num_rows="dynamic" if editable else "fixed",
        disabled=not editable,
        hide_index=True,
        column_config={
            "model": column.TextColumn(
                "model", required=True, max_chars=LONGEST_NAME, help="Its name, or a pattern with *"
            ),
            "prompt": column.NumberColumn(
                "read", required=True, min_value=0, max_value=MOST_DOLLARS, format="$%.3f", help=HELP
            ),
            "completion": column.NumberColumn(
                "written", required=True, min_value=0, max_value=MOST_DOLLARS, format="$%.3f", help=HELP
            ),
            "as_of": column.DateColumn("as of", required=True, default=date.today(), format="D MMM YYYY"),
        },
    )
    st.caption(HELP)
    if editable:
        with st.container(horizontal=True):
            if widgets.button("Save prices", "save", key="prices_save", disabled=edited.equals(rows)):
                _change(lambda: file.write(_rows(edited)))
            if widgets.button(
                "Use the prices of OpenQuery",
                "undo",
                key="prices_reset",
                disabled=not file.path.exists(),
                help="Deletes prices.csv in the data folder.",
            ):
                _change(file.delete)


def _rows(table: pd.DataFrame) -> list[Price]:
    return [
        checked_price(model, prompt, completion, str(as_of)[:10])
        for model, prompt, completion, as_of in table.itertuples(index=False)
    ]


def _change(work: Callable[[], None]) -> None:
    with shown:
        runtime.caller().require(Action.SET_PRICES)
        work()
        st.rerun()
