"""Charts of Explain and Compare: heat map, null distribution."""

from collections.abc import Sequence
from itertools import pairwise

import plotly.graph_objects as go

from core.analysis.rankings.null_distribution import NullDistribution
from core.text.display import decimal
from core.text.sanitize import one_line
from pages.parts import markup
from pages.parts.passage_charts import GRID, MARK, MUTED, REST, SITES, apply_layout

FLOW = {False: "rgba(61,79,196,.30)", True: "rgba(140,155,255,.32)"}
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
    apply_layout(figure, dark, f"heat {measure}", height=height, margin=margin, dragmode=False)
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
    apply_layout(figure, dark, "null distribution", height=340, margin=margin, hovermode="closest")
    figure.update_xaxes(title={"text": "cosine", "standoff": 4}, showgrid=False, zeroline=False)
    return figure.update_yaxes(
        title={"text": "% of passages", "standoff": 4},
        gridcolor=GRID[dark],
        nticks=5,
        zeroline=False,
        fixedrange=True,
    )
