"""Queries view: contribution and overlap of queries, and changed rankings.

A query can be left out or added.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import attrgetter
from typing import Any

import numpy as np
import streamlit as st

from core.analysis.rankings.ablation import without_query
from core.analysis.retrieval.query_contributions import Contribution, contributions, query_overlap
from core.model import Author
from core.run.state import Run
from core.text.display import isolated
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import one_line, plural
from pages.parts import charts, markup, page_frame, runtime, widgets
from pages.parts.compare import rank_changes

AUTHORS = {
    Author.MODEL: "chat model",
    Author.QUESTION: "the question",
    Author.PERSON: "you",
    Author.CONVERSATION: "earlier questions",
    Author.AGENT: "chat model",
}
PARTS = ("hits", "pages", "passages", "context", "cited")


def view(run: Run) -> None:
    """Draw the contribution of each query, and their overlap."""
    rows = page_frame.cached("contributions", run, lambda: contributions(run))
    if not rows:
        markup.show_empty("The run ended before a query was written.", "edit_off")
        return
    _table(rows)
    _add(run)
    if len(rows) < 2:
        markup.show_empty(
            "One query only, so there is nothing to compare. Add a query above, or connect a chat model, "
            "which writes several queries for each question.",
            "looks_one",
        )
        return
    left, right = st.columns([1, 1.5], gap="medium")
    with left:
        _overlap(run)
    with right:
        _without(run)


def _table(contributed: Sequence[Contribution]) -> None:
    most = {part: max(1, *(getattr(row, part).total for row in contributed)) for part in PARTS}
    text, number = st.column_config.TextColumn, st.column_config.NumberColumn
    columns: dict[str, tuple[Any, Callable[[Contribution], object]]] = {
        "no": (text("", width=40), lambda row: f"Q{contributed.index(row) + 1}"),
        "query": (text("query", width="medium"), lambda row: one_line(row.query.text, 200)),
        "by": (text("written by", width=92), lambda row: AUTHORS[row.query.author]),
        "results": (
            number("results", width=64, help="Results in the search reply"),
            lambda row: row.results,
        ),
    }
    for part in PARTS:
        bar = st.column_config.ProgressColumn(
            part, min_value=0, max_value=most[part], format="%d", width=92, color="primary"
        )
        unique = number("unique", width=64, help=f"{part.capitalize()} from no other query")
        columns[part] = bar, attrgetter(f"{part}.total")
        columns[f"{part} unique"] = unique, attrgetter(f"{part}.unique")
    if any(row.note for row in contributed):
        columns["note"] = text("note", width="medium"), lambda row: one_line(row.note, 200)
    alt = "Contribution of each query to hits, pages, passages, context and citations"
    page_frame.table(contributed, columns, "contributions", alt=alt)


def _add(run: Run) -> None:
    with (
        st.form("add_query", border=False, clear_on_submit=True),
        st.container(horizontal=True, vertical_alignment="center", gap="small"),
    ):
        st.text_input(
            "New query",
            key="new_query",
            placeholder="Add a query or a page's address: only this is searched, and only new pages are read …",
            label_visibility="collapsed",
            icon=":material/add:",
            width="stretch",
        )
        st.form_submit_button("Search", key="search_more", on_click=_search_more, args=(run.id,))


def _search_more(run_id: str) -> None:
    runtime.continue_run(run_id, runtime.runs().search_more, st.session_state["new_query"])


def _overlap(run: Run) -> None:
    markup.show(markup.section_heading("Query overlap", "0: nothing in common, 1: identical"))
    measure = widgets.choice(
        "Measure",
        ["Jaccard of hits", "cosine"],
        key="query_overlap_by",
        default="Jaccard of hits",
        help="Jaccard similarity of the hits that two queries found, or cosine similarity of the queries.",
    )
    overlap = page_frame.compute("query_overlap", run, lambda embed: query_overlap(run, embed))
    if overlap is None:
        return
    values = overlap.shared if measure == "Jaccard of hits" else overlap.cosine
    names, shares = [query.text for query in run.queries], np.round(values.astype(float), 3).tolist()
    widgets.chart(
        charts.heat_map(names, shares, str(measure), dark=page_frame.dark()),
        key="query_overlap",
        alt=f"Query overlap by {measure}",
    )


def _without(run: Run) -> None:
    markup.show(markup.section_heading("Ranking without queries", "the answer is unchanged"))
    if run.lacks_texts:
        markup.show_empty(
            "The texts of the pages were left out of the file of this run, so they cannot be ranked again.",
            "visibility_off",
        )
        return
    names = {query.text: f"Q{number}" for number, query in enumerate(run.queries, 1)}
    off = st.pills(
        "Leave out",
        list(names),
        selection_mode="multi",
        key="queries_off",
        format_func=lambda query: f"{names[query]} {isolated(markdown_label(query))}",
        label_visibility="collapsed",
    )
    off = [query for query in off or () if query in names]
    if not off:
        markup.show_empty("Select queries to leave out, and see the ranking without them.", "toggle_off")
        return
    rest = page_frame.cached("without_query", run, lambda: reduce(without_query, off, run), tuple(off))
    pages_without = len(run.pages) - len(rest.pages)
    lost = markup.fact(f"−{pages_without}" if pages_without else "0", plural(pages_without, "page"))
    nothing = "Nothing is left to rank: no other query found any page."
    rank_changes.changes_without(run, rest, "without_query", nothing, lost)
