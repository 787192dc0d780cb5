"""The views of Explain and their parts: what each draws, how to read it, and its article in the handbook."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from core.run.state import Run
from pages.parts.compare import compare_view
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
class Part:
    """A part of a view, with its explanation."""

    title: str
    draw: Callable[[Run], None]
    how_to_read: str
    article: str
    """The article of the handbook that goes with it."""
    needs_texts: str = ""
    """The end of the sentence shown if page texts were left out of the file.

    "" if the part needs no texts.
    """


PARTS = {
    "attrition": Part(
        "Attrition",
        attrition_view.view,
        "From top to bottom: the blue part passes to the next step, the red parts are lost; the width is the share of the pages, and below that of the passages.",
        "context-and-passage-order",
    ),
    "queries": Part(
        "Queries",
        queries_view.view,
        "Queries with 0 unique results added nothing.",
        "query-expansion",
    ),
    "attribution": Part(
        "Attribution",
        attribution_view.view,
        "The stronger the colour of a cell, the more similar is the best match in that source; a ring marks a "
        "citation, a dashed one a citation below the threshold. "
        "Similarity does not prove that the source supports the sentence.",
        "citations-and-attribution",
        needs_texts="sentences of the answer cannot be compared with their sources",
    ),
    "scores": Part(
        "Scores",
        scores_view.view,
        "Blue: cosines of this question. Grey: cosines of unrelated questions on the same passages.",
        "cosine-similarity",
        needs_texts="the passages have no vectors to compare with unrelated questions",
    ),
    "map": Part(
        "Map",
        map_view.view,
        "Close points are similar; the projection is approximate. Click a point for its nearest neighbours, or use the lasso.",
        "embedding-maps",
        needs_texts="the passages have no vectors to draw",
    ),
    "sources": Part(
        "Sources",
        sources_view.view,
        "Near-duplicate pages count as one; leave a page out to see its effect on the ranking.",
        "near-duplicate-detection",
        needs_texts="pages cannot be compared with each other",
    ),
    "extraction": Part(
        "Extraction",
        extraction_view.view,
        "Left: the page as fetched. Right: the extracted article; struck through in red is what the extractor left out.",
        "main-text-extraction",
        needs_texts="the extractors cannot be compared on them",
    ),
    "answers": Part(
        "Answers",
        answers_view.view,
        "Two answers of this run side by side, with a diff of their sentences below.",
        "citations-and-attribution",
    ),
    "what-if": Part(
        "What if",
        compare_view.view,
        "Each line is a source: a steep line is a large rank change. A filled number is that of the source, an outlined one the rank of a passage outside the context.",
        "hybrid-search",
    ),
}
VIEWS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "lost": (":material/filter_alt: Lost", ("attrition", "extraction")),
    "queries": (":material/travel_explore: Queries", ("queries",)),
    "evidence": (":material/fact_check: Evidence", ("attribution", "sources")),
    "ranking": (":material/bar_chart: Ranking", ("scores", "map")),
    "answers": (":material/difference: Answers", ("answers",)),
    "what-if": (":material/compare_arrows: What if", ("what-if",)),
}
"""The views, each with its symbol, title and parts. The last stands apart: it compares two settings."""
VIEW_OF = {part: view for view, (_, parts) in VIEWS.items() for part in parts}
