"""The Explain page: analyses of a finished run, each with a link. Nothing is fetched again."""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from core.run.state import Run
from pages.parts import address, browser, markup, page_frame
from pages.parts.answers import answer_diff
from pages.parts.explain import (
    answers_view,
    attribution_view,
    attrition_view,
    extraction_view,
    left_out_text,
    map_view,
    queries_view,
    scores_view,
    sources_view,
)


@dataclass(frozen=True)
class View:
    """A view of a finished run, with its explanation."""

    symbol: str
    draw: Callable[[Run], None]
    how_to_read: str
    article: str
    """The article of the handbook that goes with it."""
    needs_texts: str = ""
    """The end of the sentence shown if page texts were left out of the file.

    "" if the view needs no texts.
    """


VIEWS = {
    "attrition": View(
        "filter_alt",
        attrition_view.view,
        "From top to bottom: the blue part passes to the next step, the red parts are lost; the width is the share of the pages, and below that of the passages.",
        "context-and-passage-order",
    ),
    "queries": View(
        "travel_explore",
        queries_view.view,
        "Queries with 0 unique results added nothing.",
        "query-expansion",
    ),
    "attribution": View(
        "fact_check",
        attribution_view.view,
        "The stronger the colour of a cell, the more similar is the best match in that source; a ring marks a "
        "citation, a dashed one a citation below the threshold. "
        "Similarity does not prove that the source supports the sentence.",
        "citations-and-attribution",
        needs_texts="sentences of the answer cannot be compared with their sources",
    ),
    "scores": View(
        "bar_chart",
        scores_view.view,
        "Blue: cosines of this question. Grey: cosines of unrelated questions on the same passages.",
        "cosine-similarity",
        needs_texts="the passages have no vectors to compare with unrelated questions",
    ),
    "map": View(
        "scatter_plot",
        map_view.view,
        "Close points are similar; the projection is approximate. Click a point for its nearest neighbours, or use the lasso.",
        "embedding-maps",
        needs_texts="the passages have no vectors to draw",
    ),
    "sources": View(
        "copy_all",
        sources_view.view,
        "Near-duplicate pages count as one; leave a page out to see its effect on the ranking.",
        "near-duplicate-detection",
        needs_texts="pages cannot be compared with each other",
    ),
    "extraction": View(
        "radiology",
        extraction_view.view,
        "Left: the page as fetched. Right: the extracted article; struck through in red is what the extractor left out.",
        "main-text-extraction",
        needs_texts="the extractors cannot be compared on them",
    ),
    "answers": View(
        "difference",
        answers_view.view,
        "Two answers of this run side by side, with a diff of their sentences below.",
        "citations-and-attribution",
    ),
}


run = page_frame.chosen_run(
    "Explain",
    "Why a run answered as it did: losses, queries, attribution, scores and extraction.",
    page_frame.EXPLAIN,
)
name = address.view_choice({view: f":material/{VIEWS[view].symbol}: {view.capitalize()}" for view in VIEWS})
shown = VIEWS[name]
page_frame.how_to_read(shown.how_to_read, shown.article)
with st.container(key="explain_view"):
    if shown.needs_texts and run.lacks_texts:
        markup.show_empty(
            f"The texts of the pages were left out of the file of this run, so {shown.needs_texts}.",
            "visibility_off",
        )
    else:
        shown.draw(run)
browser.chart_clicks(
    {
        "flow": attrition_view.pick,
        "cell": attribution_view.pick,
        "point": map_view.pick,
        "left-out": left_out_text.pick,
        "source": answer_diff.pick,
    }
)
browser.citation_clicks(None)
