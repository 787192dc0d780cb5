"""Explain: a finished run seen from every side. Each view is a link; nothing is fetched again."""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from core.run.state import Run
from pages.parts import answer_diff, chart_clicks, citation_clicks, page_frame
from pages.parts.explain import (
    answers_view,
    attribution_view,
    attrition_view,
    extraction_view,
    map_view,
    queries_view,
    scores_view,
    sources_view,
)


@dataclass(frozen=True)
class View:
    title: str
    symbol: str
    draw: Callable[[Run], None]
    reading: str
    article: str
    behind: str


VIEWS = {
    "attrition": View(
        "Attrition",
        "filter_alt",
        attrition_view.view,
        "Read it from left to right: blue goes on, red was lost, and the width is the share of all results.",
        "similarity-thresholds",
        "Similarity thresholds",
    ),
    "queries": View(
        "Queries",
        "travel_explore",
        queries_view.view,
        "A query that brought nothing alone was asked for nothing: the others had found it all.",
        "query-expansion",
        "Query expansion",
    ),
    "attribution": View(
        "Evidence",
        "fact_check",
        attribution_view.view,
        "The darker a cell, the more alike a sentence and its best match in a source; a ring marks a citation. "
        "It is similarity, not truth.",
        "citations-and-attribution",
        "Citations and attribution",
    ),
    "scores": View(
        "Scores",
        "bar_chart",
        scores_view.view,
        "Where the blue hill reaches past the grey one, passages score higher than chance explains.",
        "cosine-similarity",
        "Cosine similarity",
    ),
    "map": View(
        "Map",
        "scatter_plot",
        map_view.view,
        "Near is alike, roughly: click a point for its true neighbours, or draw around several.",
        "embedding-maps",
        "Embedding maps",
    ),
    "sources": View(
        "Sources",
        "copy_all",
        sources_view.view,
        "Pages that carry the same text are one voice; leave a page out to see what it contributed.",
        "near-duplicate-detection",
        "Near-duplicate detection",
    ),
    "xray": View(
        "X-ray",
        "radiology",
        extraction_view.view,
        "On the left the page as it came; on the right what the extractor kept of it, with what it left out struck "
        "through in red.",
        "main-text-extraction",
        "Main-text extraction",
    ),
    "answers": View(
        "Answers",
        "difference",
        answers_view.view,
        "Two answers of this run side by side; below, the sentences that only one of them has.",
        "context-and-passage-order",
        "Context and passage order",
    ),
}


def pick(name: str) -> None:
    kind, _, rest = name.partition("/")
    if kind == "band":
        attrition_view.pick(rest)
    elif kind == "cell":
        attribution_view.pick(rest)
    elif kind == "point":
        map_view.pick(rest)
    elif kind == "told":
        answer_diff.pick(rest)


page_frame.style()
run = page_frame.chosen_run(
    "Explain",
    "A finished run seen from every side: what was lost, what was brought, and how far to trust it.",
    page_frame.EXPLAIN,
)
# Not bound to the address by Streamlit, which would write labels there. A link wins over what was open before.
if st.query_params.get("view") in VIEWS:
    st.session_state["view"] = st.query_params["view"]
name = st.segmented_control(
    "View",
    list(VIEWS),
    key="view",
    default=None if st.session_state.get("view") else "attrition",
    required=True,
    on_change=lambda: st.query_params.update(view=st.session_state["view"]),
    format_func=lambda one: f":material/{VIEWS[one].symbol}: {VIEWS[one].title}",
    label_visibility="collapsed",
    persist_state="session",
)
st.query_params["view"] = name
shown = VIEWS[name]
page_frame.reading(shown.reading, shown.article, shown.behind)
with st.container(key="bench_view"):
    shown.draw(run)
chart_clicks.chart_clicks(pick)
citation_clicks.citation_clicks(None, lambda: None)
