"""Charts of an experiment: settings with their intervals, and what a setting reaches for what it costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from core.evaluation.statistics.significance import Interval
from core.text.sanitize import one_line
from pages.parts import markup
from pages.parts.charts import GOOD
from pages.parts.passage_charts import MARK, MUTED, SITES, dress

MOST_BARS = 25
"""The most settings that are drawn with their intervals."""


@dataclass(frozen=True, slots=True)
class Point:
    """A setting in the chart of quality against cost."""

    setting: str
    cost: float
    reached: Interval
    frontier: bool
    """Whether no other setting reaches more for the same cost or less."""


def interval_chart(intervals: Mapping[str, Interval], metric: str, baseline: str, *, dark: bool) -> go.Figure:
    """Mean and 95 % interval of the best settings, best on top; the baseline's mean is a line."""
    best = sorted(intervals.items(), key=lambda item: item[1].mean)[-MOST_BARS:]
    names = [markup.html(one_line(name, 48)) for name, _ in best]
    figure = go.Figure()
    figure.add_scatter(
        x=[interval.mean for _, interval in best],
        y=list(range(len(best))),
        mode="markers",
        marker={"size": 9, "color": [MARK if name == baseline else SITES[dark][0] for name, _ in best]},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [interval.high - interval.mean for _, interval in best],
            "arrayminus": [interval.mean - interval.low for _, interval in best],
            "thickness": 1.4,
            "width": 0,
            "color": MUTED[dark],
        },
        customdata=[[markup.html(name), str(interval)] for name, interval in best],
        hovertemplate="%{customdata[0]}<br>" + markup.html(metric) + " %{customdata[1]}<extra></extra>",
        showlegend=False,
    )
    if baseline in intervals:
        figure.add_vline(x=intervals[baseline].mean, line={"width": 1, "dash": "dot", "color": MARK})
    dress(figure, dark, f"intervals {metric}")
    figure.update_layout(
        height=70 + 26 * len(best), margin={"l": 8, "r": 12, "t": 8, "b": 36}, dragmode=False
    )
    figure.update_xaxes(title=markup.html(metric), fixedrange=True)
    return figure.update_yaxes(
        tickvals=list(range(len(best))),
        ticktext=names,
        range=[-0.6, len(best) - 0.4],
        automargin=True,
        showgrid=False,
        fixedrange=True,
    )


def cost_chart(points: Sequence[Point], metric: str, cost: str, *, dark: bool) -> go.Figure:
    """Settings by cost and metric; those on the frontier are joined by a line."""
    figure = go.Figure()
    frontier = sorted((point for point in points if point.frontier), key=lambda point: point.cost)
    figure.add_scatter(
        x=[point.cost for point in frontier],
        y=[point.reached.mean for point in frontier],
        mode="lines",
        line={"width": 1.4, "color": GOOD[dark], "shape": "hv"},
        name="Pareto front",
        hoverinfo="skip",
    )
    for name, some, colour in (
        ("on the front", frontier, GOOD[dark]),
        ("others", [point for point in points if not point.frontier], MUTED[dark]),
    ):
        figure.add_scatter(
            x=[point.cost for point in some],
            y=[point.reached.mean for point in some],
            mode="markers",
            marker={"size": 9, "color": colour},
            name=name,
            customdata=[[markup.html(point.setting), str(point.reached)] for point in some],
            hovertemplate="%{customdata[0]}<br>%{customdata[1]} for %{x:,.0f}<extra></extra>",
            showlegend=bool(some),
        )
    dress(figure, dark, f"cost {metric}")
    figure.update_layout(height=340, margin={"l": 8, "r": 12, "t": 30, "b": 36}, dragmode=False)
    figure.update_xaxes(title=markup.html(cost), fixedrange=True)
    return figure.update_yaxes(title=markup.html(metric), automargin=True, fixedrange=True)


def frontier(costs: Mapping[str, float], reached: Mapping[str, Interval]) -> tuple[Point, ...]:
    """Every setting with its cost, and whether it is on the Pareto front."""
    frontier = []
    for name, interval in reached.items():
        beaten = any(
            costs[other] <= costs[name]
            and other_interval.mean >= interval.mean
            and (costs[other], -other_interval.mean) != (costs[name], -interval.mean)
            for other, other_interval in reached.items()
        )
        frontier.append(Point(name, costs[name], interval, frontier=not beaten))
    return tuple(frontier)
