"""The charts of the tuning bench, in the one theme of all charts. Every label passes `render.escape_html` here."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import plotly.graph_objects as go

from core.analysis.losses.attrition import Attrition, AttritionStep, Band
from core.analysis.rankings.null_distribution import NullDistribution
from core.analysis.rankings.ranking_comparison import Move
from core.text.safe_markdown import escape_html
from core.text.sanitize import one_line
from pages.parts.passage_charts import GRID, INK, MARK, MUTED, REST, SITES, dress

FLOW = {False: "rgba(61,79,196,.30)", True: "rgba(140,155,255,.32)"}
LOSS = {False: "rgba(194,48,59,.20)", True: "rgba(255,128,135,.24)"}
LOST = {False: "#C2303B", True: "#FF8087"}
GOOD = {False: "#18794E", True: "#5BD69A"}
UNSEEN = "rgba(0,0,0,0)"
THINNEST = 0.006
"""The share that a band is drawn with at least."""
HEAT = {
    False: [[0, "#F6F7FB"], [0.5, "#AFB8EC"], [1, "#3D4FC4"]],
    True: [[0, "#171B28"], [0.5, "#3C4790"], [1, "#9AA7FF"]],
}


def sankey(found: Attrition, picked: str | None, *, dark: bool) -> go.Figure:
    """From search results to citations; red ends are losses. What is picked stands out."""
    steps = [step for step in AttritionStep if found.counts.get(step)]
    bands = [band for band in found.bands if band.count]
    ends = [band for band in bands if band.to is None]
    place = {step: at for at, step in enumerate(steps)}
    place_of_end = {band.key: len(steps) + at for at, band in enumerate(ends)}
    leading = {band.to: band.key for band in bands if band.to is not None}
    # An unseen last column: beside the last one that has nodes, labels would stand on the left, over bands.
    beyond = len(steps) + len(ends)
    figure = go.Figure(
        go.Sankey(
            arrangement="fixed",
            domain={"x": [0, 1], "y": [0, 1]},
            textfont={"color": INK[dark], "size": 12, "shadow": "none"},
            node={
                "align": "left",
                "pad": 22,
                "thickness": 9,
                "line": {"width": 0},
                "label": [
                    *(f"{found.counts[step]:,} {step}" for step in steps),
                    *(f"{band.count:,} {escape_html(band.reason)}" for band in ends),
                    "",
                ],
                "color": [SITES[dark][0]] * len(steps) + [LOST[dark]] * len(ends) + [UNSEEN],
                "customdata": [
                    *(f"band/{leading.get(step, '')}" if step in leading else "" for step in steps),
                    *(f"band/{band.key}" for band in ends),
                    "",
                ],
                "hovertemplate": "%{label}<extra></extra>",
            },
            link={
                "source": [*(place[band.start] for band in bands), len(steps) - 1],
                "target": [
                    *(place_of_end[band.key] if band.to is None else place[band.to] for band in bands),
                    beyond,
                ],
                "value": [*(max(band.width, THINNEST) for band in bands), 1e-6],
                "color": [*(_band_colour(band, picked, dark=dark) for band in bands), UNSEEN],
                "customdata": [*(f"band/{band.key}" for band in bands), ""],
                "label": [*(band_label(band) for band in bands), ""],
                "hovertemplate": "%{label}<extra></extra>",
            },
        )
    )
    dress(figure, dark, "sankey")
    return figure.update_layout(height=340, margin={"l": 4, "r": 4, "t": 12, "b": 12})


def band_label(band: Band) -> str:
    unit = "" if band.to is None else f" → {band.to}"
    return f"{band.start}{unit}: {band.count:,}" if not band.reason else f"{band.reason}: {band.count:,}"


def _band_colour(band: Band, picked: str | None, *, dark: bool) -> str:
    if band.key == picked:
        return "rgba(224,138,0,.55)"
    return LOSS[dark] if band.to is None else FLOW[dark]


def heat(names: Sequence[str], values: Sequence[Sequence[float]], what: str, *, dark: bool) -> go.Figure:
    """A square of likenesses from 0 to 1 with the number in each cell."""
    labels = [f"Q{number}" for number in range(1, len(names) + 1)]
    told = [escape_html(one_line(name, 60)) for name in names]
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
            text=[[f"{value:.2f}" for value in row] for row in values],
            texttemplate="%{text}",
            customdata=[[f"{one}<br>{other}" for other in told] for one in told],
            hovertemplate=f"%{{customdata}}<br>{what} %{{z:.2f}}<extra></extra>",
        )
    )
    dress(figure, dark, f"heat {what}")
    figure.update_layout(
        height=max(150, 60 + 46 * len(names)), margin={"l": 30, "r": 4, "t": 26, "b": 4}, dragmode=False
    )
    figure.update_xaxes(side="top", showgrid=False, fixedrange=True)
    return figure.update_yaxes(autorange="reversed", showgrid=False, fixedrange=True)


def chance(found: NullDistribution, *, dark: bool) -> go.Figure:
    """This question's scores over those of unrelated questions, and the line that chance rarely passes."""
    edges = found.histogram.edges
    middles = [(low + high) / 2 for low, high in pairwise(edges)]
    figure = go.Figure()
    for shares, name, colour, fill in (
        (found.histogram.unrelated, "unrelated questions", MUTED[dark], REST[dark]),
        (found.histogram.asked, "this question", SITES[dark][0], FLOW[dark]),
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
    lines = [(found.chance, "chance ends", "dash", MUTED[dark])]
    if found.last is not None:
        lines.append((found.last, "last source", "dot", MARK))
    for level, (at, label, dash, colour) in enumerate(sorted(lines)):
        figure.add_vline(
            x=at,
            line={"color": colour, "dash": dash, "width": 1.6},
            annotation={
                "text": f"{label} {at:.2f}",
                "font": {"color": colour, "size": 11},
                "y": 1 - 0.1 * level,
                "xanchor": "left",
            },
        )
    dress(figure, dark, "chance")
    figure.update_layout(height=340, margin={"l": 44, "r": 8, "t": 30, "b": 40}, hovermode="closest")
    figure.update_xaxes(title={"text": "cosine", "standoff": 4}, showgrid=False, zeroline=False)
    return figure.update_yaxes(
        title={"text": "% of passages", "standoff": 4},
        gridcolor=GRID[dark],
        nticks=5,
        zeroline=False,
        fixedrange=True,
    )


def bump(moves: Sequence[Move], depth: int, names: tuple[str, str], *, dark: bool) -> go.Figure:
    """How passages move between two rankings. What is not among the first `depth` stands below the line."""
    figure = go.Figure()
    before, after = _heights(moves, depth, after=False), _heights(moves, depth, after=True)
    groups = (
        ("in neither context", REST[dark], 1.2, lambda m: not (m.before_number or m.after_number)),
        ("in both contexts", SITES[dark][0], 2.6, lambda m: bool(m.before_number and m.after_number)),
        ("entered", GOOD[dark], 2.6, lambda m: m.entered),
        ("left", LOST[dark], 2.6, lambda m: m.left),
    )
    for name, colour, width, belongs in groups:
        some = [at for at, move in enumerate(moves) if belongs(move)]
        x: list[float | None] = []
        y: list[float | None] = []
        text: list[str] = []
        for at in some:
            x += [0, 1, None]
            y += [before[at], after[at], None]
            text += [_told(moves[at]), _told(moves[at]), ""]
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
    for at, move in enumerate(moves):
        label = escape_html(one_line(move.label, 44))
        for side, height, rank, number in (
            (0, before[at], move.before, move.before_number),
            (1, after[at], move.after, move.after_number),
        ):
            if number:
                shown = f"[{number}]" if rank and rank <= depth else f"[{number}] rank {rank}"
                figure.add_annotation(
                    x=side,
                    y=height,
                    text=f"{shown} {label}" if side else f"{label} {shown}",
                    showarrow=False,
                    xanchor="left" if side else "right",
                    xshift=12 if side else -12,
                    font={"color": INK[dark], "size": 11},
                )
    lowest = max([depth, *before, *after])
    if lowest > depth:
        figure.add_hline(y=depth + 0.6, line={"color": GRID[dark], "width": 1.5})
    dress(figure, dark, f"bump {depth}")
    figure.update_layout(
        height=max(300, int(25 * lowest) + 90),
        margin={"l": 4, "r": 4, "t": 26, "b": 34},
        dragmode=False,
        legend={"y": 0, "yanchor": "top", "x": 0.5, "xanchor": "center"},
    )
    figure.update_xaxes(
        range=[-0.95, 1.95],
        tickvals=[0, 1],
        ticktext=[f"<b>{name}</b>" for name in names],
        side="top",
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        tickfont={"size": 12, "color": INK[dark]},
    )
    return figure.update_yaxes(range=[lowest + 0.7, 0.3], visible=False, fixedrange=True)


def _heights(moves: Sequence[Move], depth: int, *, after: bool) -> list[float]:
    """Where each passage stands on one side, from 1 at the top. Below the line, sources have a place each."""
    ranks = [move.after if after else move.before for move in moves]
    numbers = [move.after_number if after else move.before_number for move in moves]
    low = [at for at, rank in enumerate(ranks) if rank is None or rank > depth]
    sources = sorted((at for at in low if numbers[at]), key=lambda at: numbers[at] or 0)
    places = {at: depth + 1.3 + place for place, at in enumerate(sources)}
    rest = depth + 1.3 + len(sources)
    return [
        places.get(at, rest) if at in places or rank is None or rank > depth else rank
        for at, rank in enumerate(ranks)
    ]


def _told(move: Move) -> str:
    words = escape_html(move.label)
    before = "not there" if move.before is None else f"rank {move.before}"
    after = "not there" if move.after is None else f"rank {move.after}"
    return f"<b>{escape_html(move.site)}</b><br>{words}<br>{before} → {after}"
