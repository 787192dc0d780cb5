"""Queries: what each one alone brought, how alike they are, and the ranking without one or with one more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import streamlit as st

from core.analysis.losses.query_contributions import Contribution, contributions, redundancy, without_query
from core.analysis.rankings.ranking_comparison import compare
from core.model import Author
from core.run.state import Run
from core.text.safe_markdown import markdown_label
from core.text.sanitize import one_line
from pages.parts import charts, markup, page_frame, runtime
from pages.parts.compare import rank_changes

AUTHORS = {Author.MODEL: "chat model", Author.QUESTION: "the question", Author.PERSON: "you"}
PARTS = ("hits", "pages", "passages", "context", "cited")


def view(run: Run) -> None:
    found = page_frame.kept("contributions", run, lambda: contributions(run))
    if not found:
        page_frame.nothing("No query was written before the run ended.", "edit_off")
        return
    _table(found)
    _add(run)
    if len(found) < 2:
        page_frame.nothing(
            "One query only, so there is nothing to compare it with. Add one above, or connect a chat model: "
            "it writes several for each question.",
            "looks_one",
        )
        return
    left, right = st.columns([1, 1.5], gap="medium")
    with left:
        _alike(run)
    with right:
        _without(run)


def _table(found: Sequence[Contribution]) -> None:
    most = {part: max(1, *(getattr(one, part).all for one in found)) for part in PARTS}
    columns: dict[str, Any] = {
        "no": st.column_config.TextColumn("", width=40),
        "query": st.column_config.TextColumn("query", width="medium"),
        "by": st.column_config.TextColumn("written by", width=92),
        "results": st.column_config.NumberColumn("results", width=64, help="Rows of the search reply"),
    }
    for part in PARTS:
        columns[part] = st.column_config.ProgressColumn(
            part, min_value=0, max_value=most[part], format="%d", width=92, color="primary"
        )
        columns[f"{part} alone"] = st.column_config.NumberColumn(
            "alone", width=56, help=f"{part.capitalize()} that no other query brought"
        )
    columns["note"] = st.column_config.TextColumn("note", width="medium")
    told = [
        {
            "no": f"Q{number}",
            "query": one_line(one.query.text, 200),
            "by": AUTHORS[one.query.author],
            "results": one.results,
            **{part: getattr(one, part).all for part in PARTS},
            **{f"{part} alone": getattr(one, part).alone for part in PARTS},
            "note": one_line(one.fault, 200),
        }
        for number, one in enumerate(found, 1)
    ]
    order = [name for name in columns if name != "note" or any(one.fault for one in found)]
    page_frame.table(
        told,
        list(columns),
        "contributions",
        order=order,
        config=columns,
        alt="What each query brought to hits, pages, passages, context and citations",
    )


def _add(run: Run) -> None:
    with (
        st.form("add_query", border=False, clear_on_submit=True),
        st.container(horizontal=True, vertical_alignment="center", gap="small"),
    ):
        st.text_input(
            "One more query",
            key="new_query",
            placeholder="Add a query by hand: only that one is searched, and only its new pages are read …",
            label_visibility="collapsed",
            icon=":material/add:",
            width="stretch",
        )
        st.form_submit_button("Search it", key="search_more", on_click=_search_more, args=(run.id,))


def _search_more(run_id: str) -> None:
    text = st.session_state["new_query"]
    runtime.go_on(run_id, lambda: runtime.runs().search_more(run_id, text, runtime.access()))


def _alike(run: Run) -> None:
    st.html(markup.kicker("How alike", "1 is the same"))
    measure = st.segmented_control(
        "Likeness of",
        ["shared hits", "cosine"],
        key="alike",
        default="shared hits",
        required=True,
        label_visibility="collapsed",
        help="shared hits: Jaccard similarity of what they found; cosine: of the queries themselves",
    )
    found = page_frame.computed("redundancy", run, lambda embed: redundancy(run, embed))
    if found is None:
        return
    values = found.shared if measure == "shared hits" else found.cosine
    st.plotly_chart(
        charts.heat(
            found.queries, np.round(values.astype(float), 3).tolist(), str(measure), dark=page_frame.dark()
        ),
        key="redundancy",
        config=page_frame.CONFIG,
        theme=None,
        alt=f"Likeness of the queries by {measure}",
    )


def _without(run: Run) -> None:
    st.html(
        markup.kicker("Without a query", "as if it had never been searched; the answer stays what it was")
    )
    names = {query.text: f"Q{number}" for number, query in enumerate(run.queries, 1)}
    off = st.pills(
        "Switch off",
        list(names),
        selection_mode="multi",
        key="queries_off",
        format_func=lambda one: f"{names[one]} {markdown_label(one, 42)}",
        label_visibility="collapsed",
    )
    off = [one for one in off or () if one in names]
    if not off:
        page_frame.nothing("Pick queries to switch off, and see the ranking without them.", "toggle_off")
        return
    rest = page_frame.kept("without_query", run, lambda: reduce(without_query, off, run), tuple(off))
    found = compare(run, rest)
    if found is None or rest.index is None or not rest.index.passages:
        page_frame.nothing("Nothing is left to rank: no other query found these pages.", "playlist_remove")
        return
    gone = len(run.pages) - len(rest.pages)
    st.html(rank_changes.told(found, markup.fact(f"−{gone}" if gone else "0", "pages")))
    if picked := rank_changes.table(found, "without_query"):
        rank_changes.opened(picked, run, rest, "without_query")
