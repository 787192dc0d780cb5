"""Charts of Explain and Compare: heat map, null distribution, bump chart."""

from collections.abc import Collection, Sequence
from itertools import pairwise

import plotly.graph_objects as go
from htpy import b, br

from core.analysis.rankings.null_distribution import NullDistribution
from core.analysis.rankings.ranking_comparison import RankChange
from core.text.display import decimal
from core.text.sanitize import one_line
from pages.parts import browser, markup
from pages.parts.passage_charts import GRID, INK, MARK, MARKER, MUTED, REST, SITES, dress

FLOW = {False: "rgba(61,79,196,.30)", True: "rgba(140,155,255,.32)"}
LOST = {False: "#C2303B", True: "#FF8087"}
GOOD = {False: "#18794E", True: "#5BD69A"}
HEAT = {
    False: [[0, "#F6F7FB"], [0.5, "#AFB8EC"], [1, "#3D4FC4"]],
    True: [[0, "#171B28"], [0.5, "#3C4790"], [1, "#9AA7FF"]],
}


def heat_map(
    names: Sequence[str], values: Sequence[Sequence[float]], measure: str, *, dark: bool
) -> go.Figure:
    """Return a heat map of a square similarity matrix. Values are from 0 to 1, written in each cell."""
    labels = [f"Q{number}" for number in range(1, len(names) + 1)]
    titles = [markup.html(one_line(name, 60)) for name in names]
    figure = go.Figure(
        go.Heatmap(
            x=labels,
            y=labels,
            z=[list(row) for row in values],
            zmin=0,
            zmax=1,
            colorscale=HEAT[dark],
            showscale=False,
            xgap=3,
            ygap=3,
            text=[[decimal(value, 2) for value in row] for row in values],
            texttemplate="%{text}",
            customdata=[[f"{title}<br>{other}" for other in titles] for title in titles],
            hovertemplate=f"%{{customdata}}<br>{measure} %{{z:.2f}}<extra></extra>",
        )
    )
    height, margin = max(150, 60 + 46 * len(names)), {"l": 30, "r": 4, "t": 26, "b": 4}
    dress(figure, dark, f"heat {measure}", height=height, margin=margin, dragmode=False)
    figure.update_xaxes(side="top", showgrid=False, fixedrange=True)
    return figure.update_yaxes(autorange="reversed", showgrid=False, fixedrange=True)


def null_distribution_chart(distribution: NullDistribution, *, dark: bool) -> go.Figure:
    """Return a histogram of this question's cosines against unrelated questions'.

    A line marks the 99th percentile of the unrelated cosines.
    """
    middles = [(low + high) / 2 for low, high in pairwise(distribution.edges)]
    figure = go.Figure()
    for shares, name, colour, fill in (
        (distribution.unrelated_shares, "unrelated questions", MUTED[dark], REST[dark]),
        (distribution.question_shares, "this question", SITES[dark][0], FLOW[dark]),
    ):
        figure.add_scatter(
            x=middles,
            y=[100 * share for share in shares],
            mode="lines",
            line={"shape": "hvh", "width": 1.6, "color": colour},
            fill="tozeroy",
            fillcolor=fill,
            name=name,
            hovertemplate="cosine %{x:.2f}: %{y:.1f} % of the passages<extra>" + name + "</extra>",
        )
    lines = [(distribution.percentile_99, "99th percentile of unrelated questions:", "dash", MUTED[dark])]
    if distribution.lowest_in_context is not None:
        lines.append((distribution.lowest_in_context, "lowest in context:", "dot", MARK))
    for level, (position, label, dash, colour) in enumerate(sorted(lines)):
        figure.add_vline(
            x=position,
            line={"color": colour, "dash": dash, "width": 1.6},
            annotation={
                "text": f"{label} {decimal(position, 2)}",
                "font": {"color": colour, "size": 11},
                "y": 1 - 0.1 * level,
                "xanchor": "left",
            },
        )
    margin = {"l": 44, "r": 8, "t": 30, "b": 40}
    dress(figure, dark, "null distribution", height=340, margin=margin, hovermode="closest")
    figure.update_xaxes(title={"text": "cosine", "standoff": 4}, showgrid=False, zeroline=False)
    return figure.update_yaxes(
        title={"text": "% of passages", "standoff": 4},
        gridcolor=GRID[dark],
        nticks=5,
        zeroline=False,
        fixedrange=True,
    )


def label_length() -> int:
    """Return the label length in characters that fits the window."""
    return 12 if browser.is_narrow() else 24 if browser.is_compact() else 38


def bump_chart(
    changes: Sequence[RankChange],
    depth: int,
    names: tuple[str, str],
    *,
    dark: bool,
    relevant: Collection[str] = (),
    label_length: int = 38,
) -> go.Figure:
    """Return a bump chart of two rankings.

    Passages below rank `depth` are drawn below the line. `relevant` are the ids of passages that are always
    highlighted. A label has at most `label_length` characters.
    """
    figure = go.Figure()
    before, after = _heights(changes, depth, after=False), _heights(changes, depth, after=True)
    groups = (
        ("in neither context", REST[dark], 1.2, lambda m: not (m.before_number or m.after_number)),
        ("in both contexts", SITES[dark][0], 2.6, lambda m: bool(m.before_number and m.after_number)),
        ("entered", GOOD[dark], 2.6, lambda m: m.entered),
        ("left", LOST[dark], 2.6, lambda m: m.left),
        ("relevant", MARKER[dark], 3.2, lambda m: m.id in relevant),
    )
    for name, colour, width, belongs in groups:
        some = [
            index
            for index, change in enumerate(changes)
            if belongs(change) and (name == "relevant" or change.id not in relevant)
        ]
        x: list[float | None] = []
        y: list[float | None] = []
        text: list[str] = []
        for index in some:
            x += [0, 1, None]
            y += [before[index], after[index], None]
            text += [_hover(changes[index]), _hover(changes[index]), ""]
        figure.add_scatter(
            x=x,
            y=y,
            text=text,
            mode="lines+markers",
            name=f"{name} ({len(some)})",
            line={"color": colour, "width": width, "shape": "spline", "smoothing": 0.6},
            marker={"size": 7 if width > 2 else 5, "color": colour},
            opacity=1 if width > 2 else 0.8,
            hovertemplate="%{text}<extra></extra>",
            showlegend=bool(some),
        )
    for index, change in enumerate(changes):
        for side, height, rank, number in (
            (0, before[index], change.before, change.before_number),
            (1, after[index], change.after, change.after_number),
        ):
            if number:
                below = "" if rank and rank <= depth else f" rank {rank}"
                mark = f"[{number}]{below}"
                label = markup.html(one_line(change.label, max(label_length - len(below), 6)))
                figure.add_annotation(
                    x=side,
                    y=height,
                    text=f"{mark} {label}" if side else f"{label} {mark}",
                    showarrow=False,
                    xanchor="left" if side else "right",
                    xshift=12 if side else -12,
                    font={"color": INK[dark], "size": 11},
                )
    lowest = max([depth, *before, *after])
    if lowest > depth:
        figure.add_hline(
            y=depth + 0.6,
            line={"color": GRID[dark], "width": 1.5},
            annotation={"text": f"below rank {depth}", "font": {"size": 11, "color": MUTED[dark]}},
            annotation_position="bottom left",
        )
    dress(
        figure,
        dark,
        f"bump {depth}",
        height=max(300, int(25 * lowest) + 90),
        margin={"l": 4, "r": 4, "t": 26, "b": 34},
        dragmode=False,
        legend={"y": 0, "yanchor": "top", "x": 0.5, "xanchor": "center"},
    )
    figure.update_xaxes(
        range=[-0.95, 1.95],
        tickvals=[0, 1],
        ticktext=[markup.html(b[name]) for name in names],
        side="top",
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        tickfont={"size": 12, "color": INK[dark]},
    )
    return figure.update_yaxes(range=[lowest + 0.7, 0.3], visible=False, fixedrange=True)


def _heights(changes: Sequence[RankChange], depth: int, *, after: bool) -> list[float]:
    """Return each passage's height on one side, from 1 at the top.

    Below the line, every passage of the context has a separate height.
    """
    ranks = [change.after if after else change.before for change in changes]
    numbers = [change.after_number if after else change.before_number for change in changes]
    low = [index for index, rank in enumerate(ranks) if rank is None or rank > depth]
    sources = sorted((index for index in low if numbers[index]), key=lambda index: numbers[index] or 0)
    places = {index: depth + 1.3 + place for place, index in enumerate(sources)}
    rest = depth + 1.3 + len(sources)
    return [
        places.get(index, rest) if index in places or rank is None or rank > depth else rank
        for index, rank in enumerate(ranks)
    ]


def _hover(change: RankChange) -> str:
    before = "not ranked" if change.before is None else f"rank {change.before}"
    after = "not ranked" if change.after is None else f"rank {change.after}"
    return markup.html(b[change.site], br, change.label, br, f"{before} → {after}")
