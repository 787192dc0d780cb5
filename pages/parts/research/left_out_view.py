"""Pages whose texts were left out of a run's file: the button that fetches them again, and what became of each passage."""

from collections import Counter

import streamlit as st

from core.export.left_out.passages import left_out_passages, why_gone
from core.model import PassageState
from core.run.state import Run
from core.storage.run_links import is_link
from core.text.sanitize import one_line, pluralize
from pages.parts import runtime, tables, widgets

COLUMNS = ("from", "to", "now", "moved to", "page", "why")


def left_out_texts(run: Run) -> None:
    """Draw nothing for a run whose texts were never left out."""
    passages = tuple(left_out_passages(run))
    lacking = sum(page.lacks_text for page in run.pages.values())
    if lacking and not is_link(run.id):
        with st.container(key="left_out", horizontal=True, vertical_alignment="center", border=True):
            st.markdown(f"The texts of {pluralize(lacking, 'page')} are not here.", width="stretch")
            if widgets.button("Fetch the texts", "download", key="fetch_texts"):
                with st.spinner("Fetching the pages again …"):
                    runtime.change_runs(
                        [run.id], lambda: runtime.runs().left_out_texts.fetch(run.id, runtime.access())
                    )
                st.rerun()
    states = Counter(passage.state for _, passage in passages)
    if states.total() == states[PassageState.LEFT_OUT]:
        return
    counts = " · ".join(f"{states[state]:,} {state}" for state in PassageState if states[state])
    with st.expander(f"Passages fetched again: {counts}", icon=":material/fact_check:"):
        rows = [
            (
                p.start,
                p.end,
                str(p.state),
                p.moved_to,
                one_line(page.title or page.url),
                one_line(why_gone(page, p)),
            )
            for page, p in passages
        ]
        st.dataframe(tables.frame(rows, COLUMNS), hide_index=True, key="left_out_passages")
