"""Figure of the embedding map: passages and other points.

Passages are coloured by source, score, query or topic.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
from htpy import b

from core.analysis.embedding_map.embedding_map import EmbeddingMap, Point, PointKind
from core.analysis.embedding_map.passage_clusters import cluster_names, default_cluster_count, k_means
from core.analysis.rankings.ranked_passages import RankedPassage
from core.run.state import Run
from core.text.display import passage_label
from core.text.sanitize import one_line
from pages.parts import charts, markup, page_frame
from pages.parts.passage_charts import INK, MARK, REST, SITES, apply_layout, hover

COLOURS = ("source", "score", "query", "topic")
COLOURED_SOURCES = 7
"""Sources with their own colour."""
MARKERS = {
    PointKind.QUERY: ("diamond", 12),
    PointKind.SENTENCE: ("cross", 11),
    PointKind.QUESTION: ("star", 18),
}
PLURALS = {
    PointKind.QUERY: "queries",
    PointKind.SENTENCE: "sentences of the answer",
    PointKind.QUESTION: "the question",
}


def map_figure(
    run: Run, projected: EmbeddingMap, passages: Sequence[RankedPassage], by: str, *, dark: bool
) -> go.Figure:
    """Return the map of passages, question, queries and answer sentences."""
    figure = go.Figure()
    points = projected.projection.points

    def trace(some: Sequence[int], name: str, **options: Any) -> None:
        figure.add_scatter(
            x=points[list(some), 0].tolist(),
            y=points[list(some), 1].tolist(),
            mode="markers",
            name=name,
            customdata=[f"point/{row}" for row in some],
            hovertemplate="%{text}<extra></extra>",
            showlegend=bool(some),
            **options,
        )

    for name, some, marker in _groups(run, passages, by, dark=dark):
        trace(
            [row.row for row in some],
            name,
            text=[hover(row) for row in some],
            marker={
                "size": [12 if row.number else 7 for row in some],
                "line": {"width": [2 if row.number else 0 for row in some], "color": MARK},
                "opacity": 0.9,
                **marker,
            },
        )
    for kind, (symbol, size) in MARKERS.items():
        places = [place for place, point in enumerate(projected.points) if point.kind is kind]
        trace(
            places,
            PLURALS[kind],
            text=[markup.html(b[point_title(projected.points[place])]) for place in places],
            marker={
                "symbol": symbol,
                "size": size,
                "color": MARK
                if kind is PointKind.QUESTION
                else charts.GOOD[dark]
                if kind is PointKind.SENTENCE
                else INK[dark],
                "line": {"width": 1.5, "color": INK[not dark]},
            },
        )
    axis = {"showticklabels": False, "zeroline": False, "showgrid": False}
    layout = {"height": 520, "dragmode": "lasso", "clickmode": "event", "xaxis": axis, "yaxis": axis}
    apply_layout(figure, dark, f"embedding map {run.id}", margin={"l": 4, "r": 4, "t": 60, "b": 4}, **layout)
    return figure


def _groups(
    run: Run, passages: Sequence[RankedPassage], by: str, *, dark: bool
) -> list[tuple[str, list[RankedPassage], Mapping[str, Any]]]:
    if by == "score":
        scores = [row.cosine if row.cosine is not None else 0.0 for row in passages]
        marker = {
            "color": scores,
            "colorscale": charts.HEAT[dark],
            "colorbar": {
                "title": {"text": "cosine", "side": "right"},
                "thickness": 9,
                "len": 0.6,
                "outlinewidth": 0,
            },
        }
        return [("passages", list(passages), marker)]
    finders = _by_query(run) if by == "query" else {}
    topics = _by_topic(run) if by == "topic" else {}
    titles = {row.key: one_line(row.title, 34) for row in passages}
    best = dict.fromkeys(row.key for row in passages if row.number)
    groups: dict[str, list[RankedPassage]] = {}
    for row in passages:
        if by == "query":
            name = finders.get(row.key, "no query")
        elif by == "topic":
            name = topics[row.row]
        else:
            name = titles[row.key] if row.key in list(best)[:COLOURED_SOURCES] else "other pages"
        groups.setdefault(name, []).append(row)
    ordered = sorted(groups, key=lambda name: (name in {"other pages", "several queries"}, name))
    return [
        (
            markup.html(name),
            groups[name],
            {"color": REST[dark] if name == "other pages" else SITES[dark][place % len(SITES[dark])]},
        )
        for place, name in enumerate(ordered)
    ]


def _by_query(run: Run) -> dict[str, str]:
    """Return the only query that found each page, as its number.

    For several queries it is "several queries".
    """
    numbers = {query.text: f"Q{number}" for number, query in enumerate(run.queries, 1)}
    colours: dict[str, str] = {}
    for hit in run.hits:
        own = dict.fromkeys(numbers.get(line.query, "") for line in hit.found)
        colours[hit.key] = f"{next(iter(own))} only" if len(own) == 1 else "several queries"
    return colours


def _by_topic(run: Run) -> Mapping[int, str]:
    """The name of each passage's topic cluster, by row."""

    def work() -> Mapping[int, str]:
        assert run.index is not None and run.index.vectors is not None  # noqa: S101  # there is a map
        labels = k_means(run.index.vectors, default_cluster_count(len(run.index.passages)))
        words = cluster_names([passage.text for passage in run.index.passages], labels)
        return {row: words[label] or "no words" for row, label in enumerate(labels.tolist())}

    return page_frame.cached("topics", run, work)


def point_title(point: Point) -> str:
    """The text of a point, on one line."""
    number = f" {point.number}" if point.number else ""
    return f"{str(point.kind).capitalize()}{number}: {passage_label(point.text, 110)}"
