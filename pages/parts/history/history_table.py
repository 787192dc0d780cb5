"""The table of stored runs, with multiple selection."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from core.analysis.history import all_tags, changed_settings, summary_usage
from core.analysis.run_usage import RunUsage
from core.config.knobs import Knobs
from core.config.schema import nested
from core.run.run_summary import RunSummary
from core.run.state import RunStatus
from pages.parts import browser, runtime, tables

VISIBLE_ROWS = 18
TITLE_CHARACTERS = 160
STATUS_WORDS = {
    RunStatus.QUEUED: "◌ queued",
    RunStatus.RUNNING: "◌ running",
    RunStatus.PLANNED: "◇ planned",
    RunStatus.DONE: "✓ done",
    RunStatus.STOPPED: "■ stopped",
    RunStatus.FAILED: "✕ failed",
    RunStatus.INTERRUPTED: "■ interrupted",
}


def history_table(runs: Sequence[RunSummary], on_open: Callable[[str], None]) -> tuple[RunSummary, ...]:
    """Draw the runs, and return the selected runs.

    These are the ticked runs, or else the run of the marked cell. `on_open` gets the id of a clicked run.
    """
    prices = runtime.prices()
    usages = [summary_usage(run, prices) for run in runs]
    defaults = Knobs.parse(nested(runtime.runs().settings.knobs))
    key = tables.rows_key("history", [run.id for run in runs])
    # Streamlit gives no class to a table with a selection whose key changes.
    with st.container(key="history_table"):
        state: Any = st.dataframe(
            _table(runs, usages, defaults),
            key=key,
            hide_index=True,
            on_select="rerun",
            selection_mode=("multi-row", "single-cell"),
            height=tables.height(len(runs), VISIBLE_ROWS),
            row_height=tables.row_height(),
            column_config=tables.fitted(_columns(all_tags(runs))),
            placeholder="",
            alt="Stored runs",
        )
    marked = [cell for cell in state.selection.cells if cell[0] < len(runs)]
    browser.row_clicks("history_table", runs[marked[0][0]].id if marked else "", str(marked), on_open)
    rows = state.selection.rows or [cell[0] for cell in marked]
    return tuple(runs[row] for row in rows if row < len(runs))


def _table(runs: Sequence[RunSummary], usages: Sequence[RunUsage], defaults: Knobs) -> Styler:
    """Return the table of runs, with costs as text.

    Costs are sorted as numbers. An estimate is marked, and a missing cost is shown as unknown.
    """
    table = pd.DataFrame([_cells(run, usage, defaults) for run, usage in zip(runs, usages, strict=True)])
    style = table.style
    for row, usage in enumerate(usages):
        style.format(usage.cost_text, subset=([row], ["cost"]), na_rep=usage.cost_text)
    return style


def _cells(run: RunSummary, usage: RunUsage, defaults: Knobs) -> dict[str, Any]:
    return {
        "question": tables.text_in_view(run.title, TITLE_CHARACTERS),
        "when": datetime.fromisoformat(run.started) if run.started else None,
        "status": STATUS_WORDS[run.status] + (" elsewhere" if run.elsewhere else ""),
        "turns": run.turns,
        "tags": list(run.tags),
        "changed settings": list(changed_settings(run, defaults)),
        "pages": run.pages,
        "passages": run.passages,
        "in context": run.sources,
        "duration": run.seconds,
        "tokens": usage.tokens.total_tokens if usage.tokens else None,
        "cost": usage.cost.dollars if usage.cost else None,
    }


def _columns(tags: Sequence[str]) -> dict[str, Any]:
    column, narrow = st.column_config, browser.is_narrow()
    return {
        "question": column.TextColumn(
            "question", width=132 if narrow else 296, help="Or the title of a conversation"
        ),
        "when": column.DatetimeColumn(
            "when",
            format="D MMM, HH:mm" if narrow else "D MMM YYYY, HH:mm",
            timezone=browser.time_zone_name(),
            width=92 if narrow else 136,
        ),
        "status": column.TextColumn("status", width=98 if narrow else 102),
        "turns": column.NumberColumn("turns", width=50, help="Questions of its conversation"),
        "tags": column.MultiselectColumn("tags", options=list(tags), color="auto", width=124),
        "changed settings": column.ListColumn(
            "changed settings", width=190, help="Settings that differ from the defaults"
        ),
        "pages": column.NumberColumn("pages", width=56),
        "passages": column.NumberColumn("passages", width=76, format="localized"),
        "in context": column.NumberColumn(
            "in context", width=76, help="Passages in the context of the answer"
        ),
        "duration": column.NumberColumn("duration", width=70, format="%.1f s"),
        "tokens": column.NumberColumn(
            "tokens",
            width=66,
            format="localized",
            help="Read and written by models on servers; empty when none was asked",
        ),
        "cost": column.NumberColumn(
            "cost", width=72, help="As providers state it; with ~ by the prices on the System page"
        ),
    }
