"""Ranked passages: map, score curve, table, and the selected passage.

The selected passage is shown in its article.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import streamlit as st

from core.analysis.rankings.ranked_passages import (
    SCORES,
    RankedPassage,
    cosines,
    filtered,
    ranked_passages,
    sorted_by,
)
from core.analysis.rankings.score_curve import score_curve
from core.model import Passage, Place
from core.model.passage_urls import site
from core.run.state import Run
from core.text.display import decimal, passage_label
from core.text.sanitize import distinct_labels, pluralize
from pages.parts import browser, markup, passage_charts, tables, widgets
from pages.parts.passage_reader import reader
from pages.parts.research import label_view
from pages.parts.serving import streamlit_patches

FRAGMENTS = ("ranked_charts", "ranked_rows")
"""The fragments that show a ranking."""
LISTED = "ranked_table"
"""The fragment of the filters and the rows below them."""
OPENED = "passage"
"""Session key of the open passage's id."""
CITED = "cited"
"""Session key of the source whose citation was clicked."""
SHOWN_SCORE = "passage_score"
"""Session key of the score in the table."""
CELL = 100
"""Characters of a passage in its cell, of which a third is visible."""
VISIBLE_ROWS = 8
"""Visible rows.

With charts of `passage_charts.HEIGHT` pixels, they fit on the first screen of a 1,440 x 900 window.
"""


def passages(answered: Run, tuned: Callable[[], Run]) -> tuple[str, ...]:
    """Draw map, curve, table and labels of the tuned run.

    Each fragment calls `tuned` when drawn. The labels are compared with the answer's ranking. Returns the
    fragments to draw again after a change of the ranking.
    """
    if not ranked_passages(tuned()):
        markup.show_empty("There are no passages to rank.", "segment")
        return ("results",)
    with st.container(key="ranked_charts"):
        _charts(tuned)
    _listed(answered, tuned)
    return FRAGMENTS


@dataclass(frozen=True, slots=True)
class _Head:
    """The pages of the filter, the scores and the caption of the passage table."""

    pages: frozenset[str]
    """Keys of the pages that the filter offers."""
    scores: tuple[str, ...]
    """Scores that the table can show."""
    caption: str


@st.fragment(key=LISTED)
def _listed(answered: Run, tuned: Callable[[], Run]) -> None:
    """Draw filters, table, labels and the open passage. Actions here do not redraw the charts."""
    table = ranked_passages(run := tuned())
    pages = distinct_labels({row.key: f"{row.title} — {row.site}" for row in table})
    matching = _filters(pages)
    head = _head(run, table, matching(table))
    _draw_head(head)
    _rows(answered, tuned, head, matching)


@st.fragment(key=FRAGMENTS[1])
def _rows(
    answered: Run,
    tuned: Callable[[], Run],
    head: _Head,
    matching: Callable[[Sequence[RankedPassage]], tuple[RankedPassage, ...]],
) -> None:
    """Draw the table of the `matching` passages below its `head`, labels and the open passage."""
    table = ranked_passages(run := tuned())
    rows = matching(table)
    if _head(run, table, rows) != head:
        streamlit_patches.rerun_fragment(LISTED)
    labels = label_view.run_labels(answered, run)
    passage_rows(
        sorted_by(rows, st.session_state.get("passage_order", "")),
        head.scores,
        str(st.session_state[SHOWN_SCORE]),
        labels=labels.names,
        beside_pages=lambda: _order(head.scores),
    )
    label_view.summary(labels, answered, run, OPENED)
    open_passage(run, table, rows, lambda passage: label_view.grade_buttons(labels, run, passage))


@st.fragment(key=FRAGMENTS[0])
def _charts(tuned: Callable[[], Run]) -> None:
    """Draw the map and the curve, each below its heading. The styles put the curve beside the map."""
    table, dark = ranked_passages(run := tuned()), st.context.theme.type == "dark"
    projected = passage_charts.projection(run.index, run.embedded_for_answer) if run.index else None
    if projected is None:
        why = "were left out of the file with the texts" if run.lacks_texts else "are not there"
        markup.show(markup.section_heading("Embedding map"))
        markup.show_empty(f"No map: the vectors of the passages {why}.", "scatter_plot")
    else:
        drawn, total = len(passage_charts.shown_points(table, projected)), len(table)
        count = f"{drawn:,} of {total:,} drawn" if drawn < total else ""
        legend = ("context", "context"), ("question", "question")
        hint = f"A view in two dimensions, which keep {sum(projected.explained):.0%} of the variance of the vectors."
        markup.show(markup.section_heading("Embedding map", count, *legend, hint=hint))
        st.plotly_chart(
            passage_charts.embedding_map(run, table, projected, dark=dark),
            key="map",
            config=passage_charts.CONFIG,
            on_select=lambda: _select_point(table),
            selection_mode="points",
            theme=None,
            alt="Passages and the question, projected from the embedding space onto a plane",
        )
    if curve := score_curve(run):
        score = passage_charts.score_name(curve)
        hint = passage_charts.FUSED if curve.name == "fused" else ""
        markup.show(markup.section_heading(f"{score} by rank", hint=hint))
        st.plotly_chart(
            passage_charts.score_chart(curve, run, dark=dark),
            key="curve",
            config=passage_charts.CONFIG,
            theme=None,
            alt=f"{score} of the passages by rank, with the cut-off of the context",
        )


def _filters(pages: Mapping[str, str]) -> Callable[[Sequence[RankedPassage]], tuple[RankedPassage, ...]]:
    """Draw the filters, and return the function that applies them to passages."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="passage_filters"):
        words = widgets.search_field("Filter passages", "Filter passages …", key="filter_words")
        key = st.selectbox(
            "Source",
            list(pages),
            index=None,
            format_func=lambda page: pages.get(page, "a page that is no longer in the run"),
            key="filter_page",
            placeholder=f"All {pluralize(len(pages), 'page')}",
            label_visibility="collapsed",
        )
        only = st.toggle("Only in context", key="filter_context")
    return partial(filtered, words=words, only_context=only, key=key)


def _head(run: Run, table: Sequence[RankedPassage], rows: Sequence[RankedPassage]) -> _Head:
    unranked_note = (
        f"; {len(run.index.not_embedded)} without a vector are not ranked"
        if run.index and run.index.not_embedded
        else ""
    )
    # Only for several languages: the caption gets longer by a line, which moves a row off the first screen.
    mixed = run.index is not None and len(run.index.embedder_languages) > 1
    read_by = f", read by {table[0].embedder}" if mixed else ""
    caption = f"{len(rows):,} of {len(table):,} shown" if len(rows) < len(table) else ""
    return _Head(
        frozenset(row.key for row in table),
        tuple(name for name in SCORES if any(getattr(row, name) is not None for row in table)),
        f"{caption}{unranked_note}{read_by}".removeprefix("; ").removeprefix(", "),
    )


def _draw_head(head: _Head) -> None:
    """Draw the table's caption, and the choice of a score."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="passage_head"):
        with st.container(key="passage_caption", width="stretch"):
            markup.show(markup.section_heading("Passages", head.caption))
        if st.session_state.get(SHOWN_SCORE) not in head.scores:
            st.session_state[SHOWN_SCORE] = head.scores[0]
        if len(head.scores) > 1:
            st.segmented_control(
                "Score in the table",
                head.scores,
                format_func=lambda name: passage_charts.LABELS.get(name, name),
                required=True,
                key=SHOWN_SCORE,
                label_visibility="collapsed",
                persist_state="session",
            )


def passage_rows(
    rows: Sequence[RankedPassage],
    scores: Sequence[str],
    score: str,
    *,
    key: str = "passages",
    alt: str = "Ranked passages",
    labels: Mapping[str, str] = {},
    beside_pages: Callable[[], None] | None = None,
) -> None:
    """Draw the table of passages. `score` is shown first, and `labels` are by a passage's id."""
    labelled, limit = ["label"] if labels else [], tables.characters_in_view(CELL)
    # The widths add up to the pane's width in a window of 1,440 pixels.
    text = 200 if browser.is_compact() else 222 if labelled else 266
    columns: dict[str, Any] = {
        "rank": st.column_config.NumberColumn("rank", width=46, pinned=True, help="Rank among all passages"),
        "passage": st.column_config.TextColumn("passage", width=text),
        **{name: column for name, column in _score_columns(90).items() if name in scores},
        **({"label": st.column_config.TextColumn("label", width=72)} if labelled else {}),
        "context": st.column_config.NumberColumn(
            "context", width=62, help="Position in the context; empty when not in it"
        ),
        "source": st.column_config.TextColumn("source", width=76 if labelled else 104),
        "link": st.column_config.LinkColumn("link", display_text=":material/open_in_new:", width=44),
    }
    tables.selectable_table(
        rows,
        lambda row: row.id,
        lambda row: _cells(row, scores, limit) | ({"label": labels.get(row.id, "")} if labelled else {}),
        columns,
        key=key,
        opened=OPENED,
        order=["rank", "passage", score, *labelled, "context", "source"],
        alt=alt,
        max_rows=VISIBLE_ROWS,
        beside_pages=beside_pages,
    )


def _score_columns(width: int) -> dict[str, Any]:
    """Return the column of each score. One is shown, and the table's own menu adds the others."""
    number = partial(st.column_config.NumberColumn, width=width)
    return {
        "cosine": st.column_config.ProgressColumn(
            "cosine",
            min_value=0,
            max_value=1,
            format="%.3f",
            width=width,
            color="primary",
            help="Cosine similarity to the question",
        ),
        "bm25": number("BM25", format="%.2f", help="BM25 score"),
        "fused": number("fused", format="%.4f", help="Reciprocal rank fusion of cosine and BM25"),
        "rerank": number("rerank", format="%.3f", help="Score of the reranking model"),
        "diverse": number(
            "diverse",
            format="%.3f",
            help="Maximal marginal relevance: relevance minus similarity to better passages",
        ),
    }


def _order(scores: Sequence[str]) -> None:
    """Draw the choice of order for all pages. A click on the table's head sorts only the rows of one page."""
    st.selectbox(
        "Sort all pages by",
        ["rank", *scores, "source"],
        format_func=lambda name: f"Sorted by {passage_charts.LABELS.get(name, name)}",
        key="passage_order",
        label_visibility="collapsed",
        persist_state="page",
        width=170,
    )


def _cells(row: RankedPassage, scores: Sequence[str], limit: int) -> dict[str, Any]:
    return {
        "rank": row.rank,
        **{name: getattr(row, name) for name in scores},
        "context": row.number,
        **_texts(row.text, row.title, row.site, row.url, limit),
    }


@lru_cache(maxsize=50 * tables.PAGE_ROWS)
def _texts(text: str, title: str, host: str, url: str, limit: int) -> Mapping[str, str | None]:
    """The cells that no ranking changes."""
    link = markup.open_url(url) or None
    return {"passage": passage_label(text, limit), "source": f"{title} · {host}", "link": link}


# --- the open passage -------------------------------------------------------------------------------------


def _select_point(table: Sequence[RankedPassage]) -> None:
    """Open the passage of the clicked point. The point's custom data begins with its row in the index."""
    points = st.session_state["map"].selection.points
    rows = [int(point["customdata"][0]) for point in points if point.get("customdata")]
    if rows:
        st.session_state[OPENED] = next((row.id for row in table if row.row == rows[0]), None)


def open_passage(
    run: Run,
    table: Sequence[RankedPassage],
    rows: Sequence[RankedPassage],
    controls: Callable[[Passage], None] | None = None,
) -> None:
    """Draw the open passage of the table in its article. `controls` draws more controls above its text."""
    opened = st.session_state.get(OPENED)
    row = next((row for row in table if row.id == opened), None)
    if row is None or run.index is None or row.key not in run.pages:
        return
    passage = run.index.passages[row.row]
    facts = [markup.fact(f"{row.rank}", "rank")]
    if row.cosine is not None:
        facts.append(markup.fact(decimal(row.cosine, 3), f"cosine by {row.embedder}"))
    facts.append(markup.fact("in" if row.number else "not in", "the context"))
    if not any(row.id == opened for row in rows):
        facts.append(markup.fact("not in", "the filtered table"))
    reader(
        run.pages[row.key],
        passage.place,
        label=f"Rank {row.rank}",
        facts=tuple(facts),
        key="reader_row",
        opened=OPENED,
        also=_sites(run, passage.also),
        controls=None if controls is None else lambda: controls(passage),
    )


def cited_passage(run: Run) -> None:
    """Draw the cited passage in its article. Nothing is drawn before a citation was clicked."""
    number = st.session_state.get(CITED)
    source = next((candidate for candidate in run.sources if candidate.number == number), None)
    if source is None or source.passage.place.page not in run.pages:
        return
    cosine = cosines(run).get(source.passage.id)
    times = run.check.citation_counts[source.number]
    facts = [markup.fact(decimal(cosine, 3), "cosine")] if cosine is not None else []
    facts += [markup.fact("in", "the context of the answer"), markup.fact(f"{times}×", "cited")]
    reader(
        run.pages[source.passage.place.page],
        source.passage.place,
        given_place=source.place,
        label=f"Source {number}",
        facts=tuple(facts),
        key="reader_cited",
        opened=CITED,
        also=_sites(run, source.passage.also),
    )


def _sites(run: Run, places: Sequence[Place]) -> tuple[str, ...]:
    return tuple(site(run.pages[place.page].url) for place in places if place.page in run.pages)
