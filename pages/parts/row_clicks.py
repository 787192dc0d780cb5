"""A click on a row of a table opens it, and so does Enter. Streamlit tells which cell is marked, but not how that came.

An arrow key marks a cell too, and must not leave the page.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

_SCRIPT = """
const pointed = window.openqueryPointed = window.openqueryPointed || { waits: false, cell: '' };

export default function ({ data, setTriggerValue }) {
  const on = new AbortController();
  const inside = (event) => event.target.closest && event.target.closest('.st-key-' + data.table);
  const listen = (name, act) => document.addEventListener(name, act, { capture: true, signal: on.signal });
  const open = () => {
    pointed.waits = false;
    setTriggerValue('open', data.row);
  };
  listen('pointerdown', (event) => {
    pointed.waits = Boolean(inside(event));
    pointed.cell = data.cell;
  });
  listen('keydown', (event) => {
    if (!inside(event)) return;
    pointed.waits = false;
    if (event.key !== 'Enter' || !data.row) return;
    event.preventDefault();
    event.stopPropagation();
    open();
  });
  if (pointed.waits && data.row && data.cell !== pointed.cell) open();
  return () => on.abort();
}
"""

_component = st.components.v2.component("openquery_rows", html="<span></span>", js=_SCRIPT)
KEY = "row_click"


def row_clicks(table: str, row: str, cell: str, on_open: Callable[[str], None]) -> None:
    """Call `on_open` with the id of a row that was clicked, or on which Enter was pressed.

    Args:
        table: the key of the container around the table.
        row: the id of the row with the marked cell; empty when no cell is marked.
        cell: the marked cell.
        on_open: called before the script reruns.
    """

    def opened() -> None:
        name = getattr(st.session_state.get(KEY), "open", None)
        if isinstance(name, str) and name:
            on_open(name)

    with st.container(key="row_component"):
        _component(key=KEY, data={"table": table, "row": row, "cell": cell}, on_open_change=opened)
