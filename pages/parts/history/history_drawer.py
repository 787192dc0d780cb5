"""The history as a drawer over any page: find a run, open it, or act on ticked runs."""

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import groupby

import streamlit as st

from core.analysis.history import day_of, highlighted, remarkable, time_of
from core.run.run_summary import RunSummary
from core.text.markdown.safe_markdown import markdown_label
from pages.parts import browser, markup, runtime
from pages.parts.history import run_list
from pages.parts.history.history_actions import history_actions
from pages.parts.problems import errors_inline, refusal

PAGE_SIZE = 20
"""Runs on one page of the drawer."""
TABLE = "pages/runs.py"
TITLE_CHARACTERS = 160


def drawer(on_dismiss: Callable[[], None], opened: str) -> None:
    """Draw the drawer. `opened` is the id of the run on the page, and `on_dismiss` is called when it is closed."""

    @st.dialog("History", position="right", width=520, on_dismiss=on_dismiss)
    def history() -> None:
        with errors_inline:
            _contents(opened)

    history()


def _contents(opened: str) -> None:
    runs = runtime.history(run_list.MAX_RUNS)
    words, listed = run_list.filters(runs)
    refusal()
    repeated = run_list.repeated_question()
    if not listed:
        run_list.nothing(runs)
    pages = -(-len(listed) // PAGE_SIZE)
    with st.container(key="drawer_runs", gap=None):
        number = st.session_state.get("drawer_page", 1) if pages > 1 else 1
        first = (min(number, max(pages, 1)) - 1) * PAGE_SIZE
        ticked = _rows(listed[first : first + PAGE_SIZE], words, opened)
    if pages > 1:
        st.pagination(pages, key="drawer_page")
    with st.container(horizontal=True, vertical_alignment="center", key="drawer_foot"):
        st.caption(run_list.count(runs, listed))
        st.space("stretch")
        st.page_link(TABLE, label="All as a table", icon=":material/table_rows:")
    if ticked:
        history_actions(ticked, runs, export_suffix="_of_history")
    run_list.refresh_while_live(runs, repeated)


def _rows(runs: Sequence[RunSummary], words: str, opened: str) -> tuple[RunSummary, ...]:
    """Draw a line for each run under its day, and return the ticked runs."""
    ticked = []
    today = datetime.now(browser.time_zone()).date()
    for day, of_day in groupby(runs, lambda run: day_of(browser.local(run.started), today)):
        markup.show(markup.section_heading(day))
        for run in of_day:
            note = "open now" if run.id == opened else remarkable(run, words)
            if _row(run, words, (time_of(browser.local(run.started), today), note)):
                ticked.append(run)
    return tuple(ticked)


def _row(run: RunSummary, words: str, notes: Sequence[str]) -> bool:
    """Draw a run as a box to tick and a link. Returns whether it is ticked."""
    title = highlighted(run.title, words, TITLE_CHARACTERS)
    with st.container(key=f"drawer_run_{run.id}", horizontal=True, vertical_alignment="top", gap="xsmall"):
        ticked = st.checkbox(f"Tick: {run.title[:80]}", key=f"tick_{run.id}", label_visibility="collapsed")
        st.page_link(
            runtime.RESEARCH,
            label=f"{title} :small[:gray[{markdown_label(' · '.join(filter(None, notes)))}]]",
            query_params={"run": run.id},
        )
    return ticked
