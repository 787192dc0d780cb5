"""Charts of ranked passages: the embedding map, and scores by rank."""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio
from plotly.basedatatypes import BaseFigure

from core.analysis.embedding_map.embedding_map import Projection, passage_projection
from core.analysis.rankings.ranked_passages import SNIPPET, RankedPassage, sampled
from core.analysis.rankings.score_curve import ScoreCurve
from core.run.state import Run
from core.text.display import decimal, passage_label
from pages.parts import markup

MOST_POINTS = 300
"""Most points to draw. They are SVG, because the content security policy blocks WebGL (decision 0012)."""
HOVER = 80
"""Characters of hover text for a passage outside the context. All hover texts are sent with every change."""
SITES = {
    False: ("#3D4FC4", "#B4437A", "#18794E", "#2E86AB", "#8A6D1F", "#7C4DBC", "#5B7083", "#A8572A"),
    True: ("#8C9BFF", "#F287BE", "#5BD69A", "#6CC7E8", "#E8C468", "#C0A2FF", "#A3ADC2", "#F0A07A"),
}
INK = {False: "#171A26", True: "#E7E9F2"}
MUTED = {False: "#5F6579", True: "#9298AC"}
GRID = {False: "#ECEEF4", True: "#222635"}
REST = {False: "#C9CEDD", True: "#3A4056"}
MARK = "#E08A00"
MARKER = {False: "#CC7A00", True: "#F0A63A"}
"""The mark's colour for thin lines and small marks. The contrast on the card is 3:1."""
LABELS = {"bm25": "BM25"}
FUSED = "The ranks by cosine and by BM25 in one score: reciprocal rank fusion."
"""Screen names of scores, if different."""
OTHERS = "other passages"
TEMPLATE = {
    "layout": {
        part: pio.templates["plotly"].layout.to_plotly_json()[part]  # values that orjson can write
        for part in ("xaxis", "yaxis", "hovermode", "colorway", "annotationdefaults", "shapedefaults")
    }
}
"""The used parts of Plotly's template. The whole template would be sent with each chart."""
HEIGHT = 164
"""Pixels of the charts of the Ask page."""
NEAREST = 5
"""Passages that are joined to a follow-up on the map."""
MARKERS = {"type": "scatter", "mode": "markers"}
ACROSS = {"type": "line", "x0": 0, "x1": 1, "y0": 0, "y1": 1}
"""A line across the whole chart."""
CONFIG = {"displayModeBar": False, "scrollZoom": True, "doubleClick": "reset"}


projection = functools.lru_cache(maxsize=4)(passage_projection)
"""Cached while a ranking is tuned."""


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    """Return numbers rounded to 4 digits. A chart cannot show more."""
    return [None if value is None or math.isnan(value) else round(float(value), 4) for value in values]


def shown_points(rows: Sequence[RankedPassage], projected: Projection) -> tuple[RankedPassage, ...]:
    """Return the passages to draw on a map, at most `MOST_POINTS`. Passages without a vector are left out."""
    return tuple(row for row in sampled(rows, MOST_POINTS) if not math.isnan(projected.points[row.row, 0]))


class Chart(BaseFigure):  # type: ignore[misc]
    """Chart data and layout, without Plotly's checks.

    Plotly's own figures check and copy every part, which takes most of the time of a slider move. A test has
    them check the drawn charts.
    """

    def __init__(self, data: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> None:
        self.__dict__["spec"] = {"data": data, "layout": layout}

    def to_dict(self) -> dict[str, Any]:
        """What Plotly's own figures answer."""
        return dict(self.__dict__["spec"])


def embedding_map(
    run: Run,
    rows: Sequence[RankedPassage],
    projected: Projection,
    *,
    dark: bool,
    follow_up: Sequence[float] | None = None,
) -> Chart:
    """Return a map of passages coloured by page.

    Passages in the context are larger, ringed and joined to the question. With the point of a `follow_up`, the nearest
    passages are joined to its hollow star instead: they are the first `rows`.
    """
    points, colours = shown_points(rows, projected), SITES[dark]
    keys = dict.fromkeys(row.key for row in rows if row.number)
    colour_of = {key: colours[place % len(colours)] for place, key in enumerate(keys)}

    def trace(passages: Sequence[RankedPassage], name: str, **marker: Any) -> dict[str, Any]:
        marker["color"] = [colour_of.get(row.key, REST[dark]) for row in passages]
        return _passages(passages, projected, hover=True) | {"name": name, "marker": marker}

    inside = [row for row in points if row.number]
    near = [] if follow_up is None else points[:NEAREST]
    question_point = float(projected.question[0]), float(projected.question[1])
    begin = question_point if follow_up is None else follow_up
    ties: dict[str, list[float | None]] = {"x": [], "y": []}
    for row in near or inside:
        x, y = projected.points[row.row]
        ties["x"] += _rounded([begin[0], x, None])
        ties["y"] += _rounded([begin[1], y, None])
    star = {"symbol": "star", "size": 17, "color": MARK, "line": {"width": 1.5, "color": INK[not dark]}}
    traces: tuple[dict[str, Any], ...] = (
        {**ties, "type": "scatter", "mode": "lines", "line": {"width": 1, "color": "rgba(224,138,0,.38)"}}
        | {"hoverinfo": "skip"},
        trace([row for row in points if not row.number], OTHERS, size=7, opacity=0.75, line={"width": 0}),
        trace(inside, "in the context", size=13, line={"width": 2, "color": MARK}),
        {**MARKERS, "x": [question_point[0]], "y": [question_point[1]], "name": "the question"}
        | {"hovertemplate": "the question<extra></extra>", "marker": star},
    )
    if follow_up is not None:
        ring = {"symbol": "circle-open", "size": 19, "color": MARK, "line": {"width": 1.5}}
        hollow = star | {"size": 19, "color": INK[not dark], "line": {"width": 2, "color": MARK}}
        traces += (
            _passages(near, projected) | {"name": "nearest to it", "hoverinfo": "skip", "marker": ring},
            {**MARKERS, "x": _rounded(follow_up[:1]), "y": _rounded(follow_up[1:]), "name": "your follow-up"}
            | {"hovertemplate": "your follow-up<extra></extra>", "marker": hollow},
        )
    axis = {"showticklabels": False, "zeroline": False, "showgrid": False}
    layout = (
        {"template": TEMPLATE}
        | base_layout(dark, f"map {run.id}")
        | {"xaxis": axis, "yaxis": axis, "showlegend": False}
    )
    return Chart(traces, layout | {"height": HEIGHT, "margin": {"l": 4, "r": 4, "t": 4, "b": 4}})


def _passages(
    passages: Sequence[RankedPassage], projected: Projection, *, hover: bool = False
) -> dict[str, Any]:
    """Return the points of passages on a map, with their rows and hover texts if wanted."""
    points = projected.points[[row.row for row in passages]] if passages else projected.points[:0]
    drawn: dict[str, Any] = {**MARKERS, "x": _rounded(points[:, 0]), "y": _rounded(points[:, 1])}
    if hover:
        cells = [_hover_cells(row) for row in passages]
        more = range(2, len(cells[0]) + 1 if cells else 0)
        drawn["customdata"] = [[row.row, *lines] for row, lines in zip(passages, cells, strict=True)]
        # Tags in the data would be sent escaped, in three times their length.
        lines = "".join(f"<br>%{{customdata[{cell}]}}" for cell in more)
        drawn["hovertemplate"] = f"<b>%{{customdata[1]}}</b>{lines}<extra></extra>"
    return drawn


def score_name(curve: ScoreCurve) -> str:
    """Return the name of the ranking score, such as "Fused score"."""
    names = {"cosine": "Cosine", "bm25": "BM25"}
    return names.get(curve.name, f"{curve.name.capitalize()} score")


def score_chart(curve: ScoreCurve, run: Run, *, dark: bool, others: bool = False) -> Chart:
    """Return a chart of the ranking score by rank, with the cut-off.

    With `others`, cosine and BM25 have a separate axis, once clicked in the legend: they do not fall under a
    ranking by another score.
    """
    traces: list[dict[str, Any]] = []
    leading = score_name(curve)
    series: dict[str, Sequence[float | None]] = {leading: curve.scores}
    if others:
        series |= {
            name: scores
            for name, scores in (("Cosine", curve.cosine), ("BM25", curve.bm25))
            if scores and name != leading
        }
    for name, scores in reversed(series.items()):  # the last is on top
        every = -(-len(scores) // MOST_POINTS) or 1
        traces.append(
            {
                "type": "scatter",
                "x0": 1,
                "dx": every,
                "y": _rounded(scores[::every]),
                "mode": "lines",
                "line": {"width": 1.8, "color": SITES[dark][0]}
                if name == leading
                else {"width": 1.2, "color": MUTED[dark], "dash": "dot"},
                "name": name,
                "visible": True if name == leading else "legendonly",
                "yaxis": "y" if name == leading else "y2",
                "hovertemplate": f"rank %{{x}}: {name} %{{y:.3f}}<extra></extra>",
            }
        )
    if scores := series.get(leading, ()):
        inside = [rank for rank in curve.context if rank <= len(scores)]
        traces.append(
            {
                **MARKERS,
                "x": inside,
                "y": _rounded(scores[rank - 1] for rank in inside),
                "name": "in the context",
                "marker": {"size": 8, "color": MARK, "line": {"width": 1.5, "color": INK[not dark]}},
                "hovertemplate": f"rank %{{x}}: {leading} %{{y:.3f}}<extra>in the context</extra>",
            }
        )
    axis = {"nticks": 5, "rangemode": "tozero", "showgrid": False, "zeroline": False}
    second = {"overlaying": "y", "side": "right", "tickmode": "auto", "nticks": 4, "showgrid": False}
    layout = (
        {"template": TEMPLATE}
        | base_layout(dark, f"curve {run.id} {curve.name} {len(curve.scores)}")
        | {
            "height": HEIGHT,
            "showlegend": len(series) > 1,
            "legend": {"orientation": "h", "y": 1.12, "x": 0},
            "margin": {"l": 30, "r": 26 if len(series) > 1 else 6, "t": 6, "b": 30},
            "xaxis": axis | {"title": {"text": "rank", "standoff": 4}},
            "yaxis": {"gridcolor": GRID[dark], "nticks": 5, "zeroline": False},
            "yaxis2": second | {"zeroline": False, "rangemode": "tozero", "fixedrange": True},
            "shapes": _limits(curve, dark=dark),
        }
    )
    return Chart(traces, layout)


def _limits(curve: ScoreCurve, *, dark: bool) -> list[dict[str, Any]]:
    """Return the lines of the cut-off and of the least cosine."""
    lines: list[dict[str, Any]] = []
    if place := curve.cutoff and curve.cutoff + 0.5:
        line = {"color": MARK, "dash": "dot", "width": 1.5}
        lines.append({**ACROSS, "xref": "x", "x0": place, "x1": place, "yref": "y domain", "line": line})
    if curve.threshold is not None and curve.name == "cosine":
        line = {"color": MUTED[dark], "dash": "dash", "width": 1}
        ends = {"y0": curve.threshold, "y1": curve.threshold}
        lines.append({**ACROSS, "xref": "x domain", "yref": "y", **ends, "line": line})
    return lines


def apply_layout(figure: go.Figure, dark: bool, revision: str, **layout: Any) -> None:
    """Apply the shared layout and `layout` to a chart.

    The user's zoom is kept while `revision` stays the same.
    """
    figure.layout.template = TEMPLATE  # update_layout would add to the current template
    figure.update_layout(base_layout(dark, revision))
    figure.update_layout(**layout)


def base_layout(dark: bool, revision: str) -> dict[str, Any]:
    """The layout that all charts share."""
    return {
        "height": 330,
        "margin": {"l": 4, "r": 4, "t": 30, "b": 4},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "Inter, sans-serif", "size": 11, "color": MUTED[dark]},
        "uirevision": revision,
        "dragmode": "pan",
        "clickmode": "event+select",
        "hoverlabel": {"align": "left", "font": {"family": "Inter, sans-serif", "size": 12}},
        "legend": {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "font": {"size": 11}},
    }


def hover(row: RankedPassage) -> str:
    """Return a passage's hover text: title, scores and text."""
    title, *lines = _hover_cells(row)
    return f"<b>{title}</b><br>" + "<br>".join(filter(None, lines))


def _hover_cells(row: RankedPassage) -> list[str]:
    """Return the lines of a hover text.

    Their number is fixed, with one value for context passages and another for all others.
    """
    cosine = "" if row.cosine is None else f" · cosine {decimal(row.cosine, 3)}"
    number = f"[{row.number}] " if row.number else ""
    lines = _lines(row.text, *((SNIPPET, 3) if row.number else (HOVER, 2)))
    return [f"{number}{_title(row.title)}", f"rank {row.rank}{cosine}", *lines]


@functools.lru_cache(maxsize=2 * MOST_POINTS)
def _title(title: str) -> str:
    return markup.html(title[:70])


@functools.lru_cache(maxsize=2 * MOST_POINTS)
def _lines(text: str, limit: int, count: int) -> tuple[str, ...]:
    """Return a passage's beginning in `count` lines.

    Some can be empty. The result is cached while its ranking is tuned.
    """
    words = markup.html(passage_label(text, limit)).split()
    width = max(9, -(-len(words) // count))
    return tuple(" ".join(words[start : start + width]) for start in range(0, count * width, width))
