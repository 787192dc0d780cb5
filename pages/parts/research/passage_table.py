"""The ranked passages: embedding map, score curve, table, and the selected passage in its article."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.analysis.rankings.ranked_passages import RankedPassage, cosines, filtered, ranked_passages
from core.analysis.rankings.score_curve import score_curve
from core.model import Place
from core.model.passage_urls import site
from core.run.state import Run
from pages.parts import markup, passage_charts
from pages.parts.passage_reader import reader

MAX_ROWS = 3000
ROW_HEIGHT = 33


def passages(run: Run, *, dark: bool) -> None:
    """Draw map, curve and table of the tuned run."""
    table = ranked_passages(run)
    if not table:
        st.html(markup.empty("There are no passages to rank.", "segment"))
        return
    _charts(run, table, dark=dark)
    shown = _filters(run, table)
    _table(shown)
    _selected_passage(run, table)


def _charts(run: Run, table: Sequence[RankedPassage], *, dark: bool) -> None:
    left, right = st.columns([1.9, 1], gap="small")
    projected = passage_charts.projection(run.index) if run.index else None
    with left:
        if projected is None:
            st.html(markup.empty("No map: the passages have no vectors.", "scatter_plot"))
        else:
            points = passage_charts.shown_points(table)
            note = f"2-D projection, {sum(projected.explained):.0%} of the variance"
            if len(points) < len(table):
                note += f"; {len(points):,} of {len(table):,} passages drawn"
            st.html(markup.kicker("Embedding map", note))
            st.plotly_chart(
                passage_charts.embedding_map(run, table, projected, dark=dark),
                key="map",
                config=passage_charts.CONFIG,
                on_select=_point_selected,
                selection_mode="points",
                theme=None,
                alt="Passages and the question, projected from the embedding space onto a projected",
            )
    with right:
        scores = score_curve(run)
        if scores:
            named = "BM25" if scores.name == "bm25" else scores.name
            st.html(markup.kicker("Scores by rank", named))
            st.plotly_chart(
                passage_charts.score_chart(scores, run, dark=dark),
                key="curve",
                config=passage_charts.CONFIG,
                theme=None,
                alt=f"{named} of the passages by rank, with the cut-off of the context",
            )


def _filters(run: Run, table: Sequence[RankedPassage]) -> tuple[RankedPassage, ...]:
    inside = sum(row.number is not None for row in table)
    pages = {row.key: f"{row.title} — {row.site}" for row in table}
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="passage_filters"):
        words = st.text_input(
            "Filter passages",
            key="filter_words",
            placeholder="Filter passages …",
            icon=":material/search:",
            label_visibility="collapsed",
        )
        key = st.selectbox(
            "Source",
            list(pages),
            index=None,
            format_func=lambda one: pages.get(one, "a page that is no longer in the run"),
            key="filter_page",
            placeholder=f"All {len(pages)} pages",
            label_visibility="collapsed",
        )
        only = st.toggle("Only in context", key="filter_context")
    shown = filtered(table, words=words or "", only_context=only, key=key)
    more = f"; the best {MAX_ROWS:,} are listed" if len(shown) > MAX_ROWS else ""
    lost = f"; {len(run.index.lost)} without a vector are not ranked" if run.index and run.index.lost else ""
    st.html(
        markup.kicker(
            "Passages", f"{len(shown):,} of {len(table):,} shown, {inside} in the context{more}{lost}"
        )
    )
    return shown[:MAX_ROWS]


def _table(shown: Sequence[RankedPassage]) -> None:
    st.session_state["listed"] = [row.id for row in shown]
    columns: dict[str, Any] = {
        "rank": st.column_config.NumberColumn("rank", width=44, help="Rank among all passages"),
        "cosine": st.column_config.ProgressColumn(
            "cosine",
            min_value=0,
            max_value=1,
            format="%.3f",
            width=118,
            color="primary",
            help="Cosine similarity to the question",
        ),
        "context": st.column_config.NumberColumn(
            "context #", width=76, help="Position in the context; empty when not in it"
        ),
        "bm25": st.column_config.NumberColumn("BM25", width=60, format="%.2f", help="BM25 score"),
        "fused": st.column_config.NumberColumn(
            "fused", width=66, format="%.4f", help="Reciprocal rank fusion of cosine and BM25"
        ),
        "rerank": st.column_config.NumberColumn(
            "rerank", width=66, format="%.3f", help="Score of the reranking model"
        ),
        "diverse": st.column_config.NumberColumn(
            "diverse",
            width=66,
            format="%.3f",
            help="Maximal marginal relevance: relevance minus similarity to better passages",
        ),
        "passage": st.column_config.TextColumn("passage", width="large"),
        "source": st.column_config.TextColumn("source", width=150),
        "link": st.column_config.LinkColumn("link", display_text=":material/open_in_new:", width=44),
    }
    order = [
        "rank",
        "cosine",
        "context",
        *(
            name
            for name in ("bm25", "fused", "rerank", "diverse")
            if any(getattr(row, name) is not None for row in shown)
        ),
        "passage",
        "source",
        "link",
    ]
    st.dataframe(
        pd.DataFrame([_cells(row) for row in shown], columns=list(columns)),
        key="passages",
        height=min(9, max(len(shown), 3)) * ROW_HEIGHT + ROW_HEIGHT + 6,
        row_height=ROW_HEIGHT,
        hide_index=True,
        column_order=order,
        column_config=columns,
        on_select=_row_selected,
        selection_mode="single-row",
        placeholder="",
        alt="Ranked passages",
    )


def _cells(row: RankedPassage) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "cosine": row.cosine,
        "context": row.number,
        "bm25": row.bm25,
        "fused": row.fused,
        "rerank": row.rerank,
        "diverse": row.diverse,
        "passage": row.snippet,
        "source": f"{row.site} · {row.title}",
        "link": markup.open_url(row.url) or None,
    }


# --- the selected passage ---------------------------------------------------------------------------------


def _row_selected() -> None:
    selected = st.session_state["passages"].selection.rows
    listed = st.session_state.get("listed", [])
    st.session_state["passage"] = listed[selected[0]] if selected and selected[0] < len(listed) else None


def _point_selected() -> None:
    points = st.session_state["map"].selection.points
    selected_id = next((point["customdata"] for point in points if "customdata" in point), None)
    if selected_id is not None:
        st.session_state["passage"] = selected_id[0] if isinstance(selected_id, list) else selected_id


def _close() -> None:
    st.session_state["passage"] = None


def _selected_passage(run: Run, table: Sequence[RankedPassage]) -> None:
    selected_id = st.session_state.get("passage")
    row = next((one for one in table if one.id == selected_id), None)
    if row is None or run.index is None or row.key not in run.pages:
        return
    passage = run.index.passages[row.row]
    facts = [markup.fact(f"{row.rank}", "rank")]
    if row.cosine is not None:
        facts.append(markup.fact(f"{row.cosine:.3f}", "cosine"))
    facts.append(markup.fact("in" if row.number else "not in", "the context"))
    reader(
        run.pages[row.key],
        passage.place,
        label=f"Rank {row.rank}",
        facts=tuple(facts),
        key="reader_row",
        close=_close,
        also=_sites(run, passage.also),
    )


def cited_passage(run: Run, number: int, close: object) -> None:
    """The passage of a cited source, in its article."""
    source = next((one for one in run.sources if one.number == number), None)
    if source is None or source.passage.place.page not in run.pages:
        return
    cosine = cosines(run).get(source.passage.id)
    times = sum(mark.number == number for mark in run.check.citations)
    facts = [markup.fact(f"{cosine:.3f}", "cosine")] if cosine is not None else []
    facts += [markup.fact("in", "the context of the answer"), markup.fact(f"{times}×", "cited")]
    reader(
        run.pages[source.passage.place.page],
        source.passage.place,
        label=f"Source {number}",
        facts=tuple(facts),
        key="reader_cited",
        close=close,
        also=_sites(run, source.passage.also),
    )


def _sites(run: Run, places: Sequence[Place]) -> tuple[str, ...]:
    return tuple(site(run.pages[place.page].url) for place in places if place.page in run.pages)
