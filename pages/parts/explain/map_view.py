"""Map: question, passages, queries and answer sentences on one plane, and the nearest neighbours of any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.analysis.embedding_map.embedding_map import EmbeddingMap, PointKind, embedding_map, neighbours
from core.analysis.embedding_map.umap_projection import by_umap
from core.analysis.rankings.passage_rows import Row, rows, sampled
from core.errors import BadInput
from core.run.state import Run
from core.text.safe_markdown import escape_html, markdown_label
from core.text.sanitize import one_line
from pages.parts import markup, page_frame
from pages.parts.explain.map_figure import COLOURS, figure_of, named
from pages.parts.passage_reader import reader

MOST = 3000
"""Passages that are drawn; of more, all of the context, the best, and every so many of the rest."""
POINT = "bench_points"
SHORT = {PointKind.QUERY: "query {}", PointKind.SENTENCE: "sentence {}", PointKind.QUESTION: "question"}


def view(run: Run) -> None:
    if run.index is None or run.ranking is None:
        page_frame.nothing("There are no passages to draw.", "scatter_plot")
        return
    found = page_frame.computed("space", run, lambda embed: embedding_map(run, embed))
    if found is None:
        if run.index.vectors is None:
            page_frame.nothing("The passages have no vectors, so there is no map.", "scatter_plot")
        return
    found, note = _plane(run, found)
    table = rows(run)
    shown = sampled(table, MOST)
    left, right = st.columns([1.7, 1], gap="medium")
    with left:
        if len(shown) < len(table):
            note += f"; {len(shown):,} of {len(table):,} passages drawn"
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.html(markup.kicker("Colour by", note), width="stretch")
            by = st.segmented_control(
                "Colour by",
                COLOURS,
                key="colour_by",
                default="source",
                required=True,
                label_visibility="collapsed",
            )
        with st.container(key="pickable_space"):
            st.plotly_chart(
                figure_of(run, found, shown, str(by), dark=page_frame.dark()),
                key="space",
                config=page_frame.CONFIG,
                theme=None,
                on_select=_lassoed,
                selection_mode="lasso",
                alt="Question, passages, queries and sentences of the answer on one plane",
            )
    with right:
        _listed(run, found, table)


def _plane(run: Run, found: EmbeddingMap) -> tuple[EmbeddingMap, str]:
    """The points where the chosen projection puts them, and what is to be known of it."""
    by_pca = f"2-D projection, {sum(found.plane.explained):.0%} of the variance"
    by = st.segmented_control(
        "Projection",
        ["PCA", "UMAP"],
        key="projection",
        default="PCA",
        required=True,
        label_visibility="collapsed",
        help="PCA keeps the directions in which the passages differ most. UMAP keeps neighbours together and "
        "says nothing about large distances.",
    )
    if by == "PCA":
        return found, by_pca
    try:
        with st.spinner("Laying out …"):
            return page_frame.kept(
                "umap", run, lambda: by_umap(found)
            ), "UMAP: neighbours count, distances do not"
    except BadInput as error:
        st.info(
            f"**{markdown_label(error.message, 200)}** {markdown_label(error.hint, 200)}",
            icon=":material/extension:",
        )
        return found, by_pca


def pick(name: str) -> None:
    """A click on one point."""
    st.session_state[POINT] = [int(name)] if name.isdecimal() else []


def _lassoed() -> None:
    points = st.session_state["space"].selection.points
    names = [point["customdata"] for point in points if point.get("customdata")]
    names = [str(one[0] if isinstance(one, list) else one).partition("/")[2] for one in names]
    st.session_state[POINT] = [int(one) for one in names if one.isdecimal()]


# --- what is picked ---------------------------------------------------------------------------------------


def _listed(run: Run, found: EmbeddingMap, table: Sequence[Row]) -> None:
    picked = [one for one in st.session_state.get(POINT, ()) if 0 <= one < len(found.points)]
    ranked = {row.row: row for row in table}
    if len(picked) > 1:
        st.html(markup.kicker("Inside the lasso", f"{len(picked):,} points"))
        _table([(one, None) for one in picked], found, ranked, "lassoed")
        return
    at = picked[0] if picked else len(found.points) - 1
    point = found.points[at]
    st.html(markup.kicker("Nearest neighbours", "cosine in all dimensions, not on the plane"))
    st.html(f'<p class="oq-verdict">{escape_html(named(point))}</p>')
    _table(list(neighbours(found, at)), found, ranked, "neighbours")
    row = ranked.get(at) if point.row is not None else None
    if row is not None and run.index is not None and row.key in run.pages:
        reader(
            run.pages[row.key],
            run.index.passages[row.row].place,
            label=f"Rank {row.rank}",
            told=(),
            key="reader_point",
            close=_forget,
        )


def _forget() -> None:
    st.session_state[POINT] = []


def _table(
    some: Sequence[tuple[int, float | None]], found: EmbeddingMap, ranked: Mapping[int, Row], key: str
) -> None:
    cells = [
        {
            "cosine": cosine,
            "what": (f"rank {ranked[at].rank}" if at in ranked else "passage")
            if found.points[at].kind is PointKind.PASSAGE
            else SHORT[found.points[at].kind].format(found.points[at].number),
            "text": one_line(found.points[at].text, 160),
            "page": ranked[at].title if at in ranked else "",
        }
        for at, cosine in some
    ]
    columns = ["cosine", "what", "text", "page"] if key == "neighbours" else ["what", "text", "page"]
    page_frame.table(
        cells,
        columns,
        key,
        config={
            "cosine": st.column_config.ProgressColumn(
                "cosine", min_value=0, max_value=1, format="%.3f", width=92, color="primary"
            ),
            "what": st.column_config.TextColumn("what", width=84),
            "text": st.column_config.TextColumn("text", width="medium"),
            "page": st.column_config.TextColumn("page", width=130),
        },
        alt="Texts that are near",
    )
