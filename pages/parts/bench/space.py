"""Map: question, passages, queries and answer sentences on one plane, and the nearest neighbours of any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.analysis.space import Kind, Point, Space, neighbours, space
from core.render import escaped
from core.run import Run
from core.views.passages import Row, rows, sampled
from core.words import one_line
from pages.parts import markup
from pages.parts.bench import figures, frame
from pages.parts.charts import INK, MARK, REST, SITES, dress
from pages.parts.reader import reader

MOST = 3000
"""Passages that are drawn; of more, all of the context, the best, and every so many of the rest."""
NAMED = 7
"""Sources or queries with a colour of their own."""
POINT = "bench_points"
COLOURS = ("source", "score", "query")
MARKS = {
    Kind.QUERY: ("diamond", 12),
    Kind.SENTENCE: ("cross", 11),
    Kind.QUESTION: ("star", 18),
}
SHORT = {Kind.QUERY: "query {}", Kind.SENTENCE: "sentence {}", Kind.QUESTION: "question"}
PLURALS = {
    Kind.QUERY: "queries",
    Kind.SENTENCE: "sentences of the answer",
    Kind.QUESTION: "the question",
}


def view(run: Run) -> None:
    if run.index is None or run.evidence is None:
        frame.nothing("There are no passages to draw.", "scatter_plot")
        return
    found = frame.computed("space", run, lambda embed: space(run, embed))
    if found is None:
        if run.index.vectors is None:
            frame.nothing("The passages have no vectors, so there is no map.", "scatter_plot")
        return
    table = rows(run)
    shown = sampled(table, MOST)
    left, right = st.columns([1.7, 1], gap="medium")
    with left:
        note = f"2-D projection, {sum(found.plane.explained):.0%} of the variance"
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
                _figure(run, found, shown, str(by), dark=frame.dark()),
                key="space",
                config=frame.CONFIG,
                theme=None,
                on_select=_lassoed,
                selection_mode="lasso",
                alt="Question, passages, queries and sentences of the answer on one plane",
            )
    with right:
        _listed(run, found, table)


def pick(name: str) -> None:
    """A click on one point."""
    st.session_state[POINT] = [int(name)] if name.isdecimal() else []


def _lassoed() -> None:
    points = st.session_state["space"].selection.points
    names = [point["customdata"] for point in points if point.get("customdata")]
    names = [str(one[0] if isinstance(one, list) else one).partition("/")[2] for one in names]
    st.session_state[POINT] = [int(one) for one in names if one.isdecimal()]


def _figure(run: Run, found: Space, shown: Sequence[Row], by: str, *, dark: bool) -> go.Figure:
    figure = go.Figure()
    at = found.plane.points

    def trace(some: Sequence[int], name: str, **given: Any) -> None:
        figure.add_scatter(
            x=at[list(some), 0].tolist(),
            y=at[list(some), 1].tolist(),
            mode="markers",
            name=name,
            customdata=[f"point/{one}" for one in some],
            hovertemplate="%{text}<extra></extra>",
            showlegend=bool(some),
            **given,
        )

    for name, some, marker in _groups(run, shown, by, dark=dark):
        trace(
            [row.row for row in some],
            name,
            text=[_hover(row) for row in some],
            marker={
                "size": [12 if row.number else 7 for row in some],
                "line": {"width": [2 if row.number else 0 for row in some], "color": MARK},
                "opacity": 0.9,
                **marker,
            },
        )
    for kind, (symbol, size) in MARKS.items():
        some = [place for place, point in enumerate(found.points) if point.kind is kind]
        trace(
            some,
            PLURALS[kind],
            text=[f"<b>{escaped(_name(found.points[place]))}</b>" for place in some],
            marker={
                "symbol": symbol,
                "size": size,
                "color": MARK
                if kind is Kind.QUESTION
                else figures.GOOD[dark]
                if kind is Kind.SENTENCE
                else INK[dark],
                "line": {"width": 1.5, "color": INK[not dark]},
            },
        )
    dress(figure, dark, f"space {run.id}")
    figure.update_layout(
        height=520, dragmode="lasso", clickmode="event", margin={"l": 4, "r": 4, "t": 60, "b": 4}
    )
    figure.update_xaxes(showticklabels=False, zeroline=False, showgrid=False)
    return figure.update_yaxes(showticklabels=False, zeroline=False, showgrid=False)


def _groups(
    run: Run, shown: Sequence[Row], by: str, *, dark: bool
) -> list[tuple[str, list[Row], Mapping[str, Any]]]:
    if by == "score":
        scores = [row.cosine if row.cosine is not None else 0.0 for row in shown]
        marker = {
            "color": scores,
            "colorscale": figures.HEAT[dark],
            "colorbar": {
                "title": {"text": "cosine", "side": "right"},
                "thickness": 9,
                "len": 0.6,
                "outlinewidth": 0,
            },
        }
        return [("passages", list(shown), marker)]
    names = _by_query(run) if by == "query" else {}
    titles = {row.key: one_line(row.title, 34) for row in shown}
    best = dict.fromkeys(row.key for row in shown if row.number)
    groups: dict[str, list[Row]] = {}
    for row in shown:
        if by == "query":
            name = names.get(row.key, "no query")
        else:
            name = titles[row.key] if row.key in list(best)[:NAMED] else "other pages"
        groups.setdefault(name, []).append(row)
    ordered = sorted(groups, key=lambda name: (name in {"other pages", "several queries"}, name))
    return [
        (
            escaped(name),
            groups[name],
            {"color": REST[dark] if name == "other pages" else SITES[dark][place % len(SITES[dark])]},
        )
        for place, name in enumerate(ordered)
    ]


def _by_query(run: Run) -> dict[str, str]:
    """The only query that found a page, as its number, or that there are several."""
    numbers = {query.text: f"Q{number}" for number, query in enumerate(run.queries, 1)}
    found: dict[str, str] = {}
    for hit in run.hits:
        own = dict.fromkeys(numbers.get(line.query, "") for line in hit.found)
        found[hit.key] = f"{next(iter(own))} alone" if len(own) == 1 else "several queries"
    return found


def _hover(row: Row) -> str:
    words = escaped(row.snippet).split()
    text = "<br>".join(" ".join(words[at : at + 9]) for at in range(0, len(words), 9))
    number = f"[{row.number}] " if row.number else ""
    cosine = "" if row.cosine is None else f" · cosine {row.cosine:.3f}"
    return f"<b>{number}{escaped(row.title[:70])}</b><br>rank {row.rank}{cosine}<br>{text}"


def _name(point: Point) -> str:
    number = f" {point.number}" if point.number else ""
    return f"{str(point.kind).capitalize()}{number}: {one_line(point.text, 110)}"


# --- what is picked ---------------------------------------------------------------------------------------


def _listed(run: Run, found: Space, table: Sequence[Row]) -> None:
    picked = [one for one in st.session_state.get(POINT, ()) if 0 <= one < len(found.points)]
    ranked = {row.row: row for row in table}
    if len(picked) > 1:
        st.html(markup.kicker("Inside the lasso", f"{len(picked):,} points"))
        _table([(one, None) for one in picked], found, ranked, "lassoed")
        return
    at = picked[0] if picked else len(found.points) - 1
    point = found.points[at]
    st.html(markup.kicker("Nearest neighbours", "cosine in all dimensions, not on the plane"))
    st.html(f'<p class="oq-verdict">{escaped(_name(point))}</p>')
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
    some: Sequence[tuple[int, float | None]], found: Space, ranked: Mapping[int, Row], key: str
) -> None:
    cells = [
        {
            "cosine": cosine,
            "what": (f"rank {ranked[at].rank}" if at in ranked else "passage")
            if found.points[at].kind is Kind.PASSAGE
            else SHORT[found.points[at].kind].format(found.points[at].number),
            "text": one_line(found.points[at].text, 160),
            "page": ranked[at].title if at in ranked else "",
        }
        for at, cosine in some
    ]
    columns = ["cosine", "what", "text", "page"] if key == "neighbours" else ["what", "text", "page"]
    st.dataframe(
        pd.DataFrame(cells, columns=columns),
        key=key,
        hide_index=True,
        height=min(10, max(len(cells), 2)) * 33 + 36,
        row_height=33,
        column_config={
            "cosine": st.column_config.ProgressColumn(
                "cosine", min_value=0, max_value=1, format="%.3f", width=92, color="primary"
            ),
            "what": st.column_config.TextColumn("what", width=84),
            "text": st.column_config.TextColumn("text", width="medium"),
            "page": st.column_config.TextColumn("page", width=130),
        },
        alt="Texts that are near",
    )
