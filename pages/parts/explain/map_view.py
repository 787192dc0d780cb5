"""Map view: the embedding map with a point's nearest neighbours.

Passages are coloured by source, score, query or topic.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from htpy import b

from core.analysis.embedding_map.embedding_map import (
    EmbeddingMap,
    Point,
    PointKind,
    embedding_map,
    neighbours,
    umap_projection,
)
from core.analysis.embedding_map.passage_clusters import cluster_names, default_cluster_count, k_means
from core.analysis.rankings.ranked_passages import RankedPassage, ranked_passages, sampled
from core.errors import BadInput
from core.run.state import Run
from core.text.display import passage_label
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import one_line, pluralize
from pages.parts import charts, markup, page_frame, widgets
from pages.parts.passage_charts import INK, MARK, REST, SITES, apply_layout, hover
from pages.parts.passage_reader import reader

MAX_POINTS = 3000
"""Most passages to draw: the whole context, the best, and a sample of the others."""
SELECTED = "map_points"
SHORT = {PointKind.QUERY: "query {}", PointKind.SENTENCE: "sentence {}", PointKind.QUESTION: "question"}
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


def view(run: Run) -> None:
    """Draw the embedding map and the selected point's neighbours."""
    if run.index is None or run.ranking is None:
        markup.show_empty("There are no ranked passages to draw.", "scatter_plot")
        return
    projected = page_frame.compute("embedding_map", run, lambda embed: embedding_map(run, embed))
    if projected is None:
        if run.index.vectors is None:
            markup.show_empty("The passages have no vectors, so there is no map.", "scatter_plot")
        return
    projected, note = _projected(run, projected)
    table = ranked_passages(run)
    waiting = set(run.index.waiting.tolist())
    plotted = [row for row in sampled(table, MAX_POINTS) if row.row not in waiting]
    left, right = st.columns([1.7, 1], gap="medium")
    with left:
        if len(plotted) < len(table):
            note += f"; {len(plotted):,} of {pluralize(len(table), 'passage')} drawn"
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            markup.show(markup.section_heading("Colour by", note), width="stretch")
            by = widgets.choice("Colour by", COLOURS, key="colour_by", default="source")
        with st.container(key="clickable_embedding_map"):
            widgets.chart(
                map_figure(run, projected, plotted, str(by), dark=page_frame.dark()),
                key="embedding_map",
                on_select=_lassoed,
                selection_mode="lasso",
                alt="Embedding map of question, passages, queries and answer sentences",
            )
    with right:
        _selection(run, projected, table)


def _projected(run: Run, projected: EmbeddingMap) -> tuple[EmbeddingMap, str]:
    """Return the map under the selected projection, and a note."""
    by_pca = f"2-D view, {sum(projected.projection.explained):.0%} of the variance kept"
    by = widgets.choice(
        "Projection",
        ["PCA", "UMAP"],
        key="projection",
        default="PCA",
        help="PCA keeps the directions of greatest variance; UMAP keeps neighbours together, but not distances.",
    )
    if by == "PCA":
        return projected, by_pca
    try:
        with st.spinner("Projecting …"):
            return page_frame.cached(
                "umap", run, lambda: umap_projection(projected)
            ), "UMAP: distances are not meaningful"
    except BadInput as error:
        st.info(
            f"**{markdown_label(error.message, 200)}** {markdown_label(error.hint, 200)}",
            icon=":material/extension:",
        )
        return projected, by_pca


def pick(name: str) -> None:
    """Handle a click on a point."""
    st.session_state[SELECTED] = [int(name)] if name.isdecimal() else []


def _lassoed() -> None:
    points = st.session_state["embedding_map"].selection.points
    names = [point["customdata"] for point in points if point.get("customdata")]
    names = [str(name[0] if isinstance(name, list) else name).partition("/")[2] for name in names]
    st.session_state[SELECTED] = [int(name) for name in names if name.isdecimal()]


# --- selection --------------------------------------------------------------------------------------------


def _selection(run: Run, projected: EmbeddingMap, table: Sequence[RankedPassage]) -> None:
    picked = [row for row in st.session_state.get(SELECTED) or () if 0 <= row < len(projected.points)]
    ranked = {row.row: row for row in table}
    if len(picked) > 1:
        markup.show(markup.section_heading("Inside the lasso", pluralize(len(picked), "point")))
        _table([(row, None) for row in picked], projected, ranked, "lassoed")
        return
    centre = picked[0] if picked else len(projected.points) - 1
    point = projected.points[centre]
    markup.show(markup.section_heading("Nearest neighbours", "by cosine in all dimensions"))
    markup.show(markup.verdict(point_title(point)))
    _table(list(neighbours(projected, centre)), projected, ranked, "neighbours")
    row = ranked.get(centre) if point.row is not None else None
    if row is not None and run.index is not None and row.key in run.pages:
        reader(
            run.pages[row.key],
            run.index.passages[row.row].place,
            label=f"Rank {row.rank}",
            key="reader_point",
            opened=SELECTED,
        )


def _table(
    some: Sequence[tuple[int, float | None]],
    projected: EmbeddingMap,
    ranked: Mapping[int, RankedPassage],
    key: str,
) -> None:
    def name(row: int) -> str:
        point = projected.points[row]
        if point.kind is not PointKind.PASSAGE:
            return SHORT[point.kind].format(point.number)
        return f"rank {ranked[row].rank}" if row in ranked else "passage"

    text = st.column_config.TextColumn
    columns: dict[str, tuple[Any, Callable[[tuple[int, float | None]], object]]] = {
        "point": (text("point", width=84), lambda item: name(item[0])),
        "text": (
            text("text", width="medium"),
            lambda item: passage_label(projected.points[item[0]].text, 160),
        ),
        "page": (text("page", width=130), lambda item: ranked[item[0]].title if item[0] in ranked else ""),
    }
    if key == "neighbours":
        cosine = st.column_config.ProgressColumn(
            "cosine", min_value=0, max_value=1, format="%.3f", width=92, color="primary"
        )
        columns = {"cosine": (cosine, itemgetter(1)), **columns}
    page_frame.table(some, columns, key, alt="Nearest neighbours")


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
