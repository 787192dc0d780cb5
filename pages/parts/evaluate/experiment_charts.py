"""Charts of an experiment: a metric by knob, and by cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.config.knob_changes import knob_values
from core.config.knobs import Knobs
from core.config.prices import Price
from core.features.evaluate.setting_table import KnobEffect, SettingRow, SettingTable
from core.features.evaluate.sweep import column, value_text, words
from core.model import Usage
from core.text.display import metric_text
from core.text.sanitize import one_line
from pages.parts import markup
from pages.parts.passage_charts import GRID, MARKER, MUTED, REST, SITES, apply_layout

MOST_KNOBS = 6
"""Most knobs to draw, largest share first."""


def effects_chart(effects: Sequence[KnobEffect], metric: str, *, dark: bool) -> go.Figure:
    """Return charts of a metric's mean by each knob's values.

    All charts share one scale. The default is a diamond.
    """
    shown, defaults = effects[:MOST_KNOBS], knob_values(Knobs())
    rows = -(-len(shown) // 2)
    figure = make_subplots(
        rows=rows,
        cols=2,
        shared_yaxes="all",
        horizontal_spacing=0.08,
        vertical_spacing=0.34 / rows,
        subplot_titles=[markup.html(f"{column(effect.path)}: {effect.share:.0%}") for effect in shown],
    )
    for place, effect in enumerate(shown):
        is_default = [value == defaults[effect.path] for value, _ in effect.values]
        is_ordered = all(isinstance(value, int | float) for value, _ in effect.values)
        figure.add_scatter(
            x=[markup.html(one_line(value_text(effect.path, value), 14)) for value, _ in effect.values],
            y=[interval.mean for _, interval in effect.values],
            mode="lines+markers" if is_ordered else "markers",
            line={"width": 1, "color": REST[dark]},
            marker={
                "size": 9,
                "color": [MARKER[dark] if default else SITES[dark][0] for default in is_default],
                "symbol": ["diamond" if default else "circle" for default in is_default],
            },
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [interval.high - interval.mean for _, interval in effect.values],
                "arrayminus": [interval.mean - interval.low for _, interval in effect.values],
                "thickness": 1.4,
                "width": 0,
                "color": MUTED[dark],
            },
            text=[
                f"{metric_text(interval.mean)} [{metric_text(interval.low)}, {metric_text(interval.high)}]"
                for _, interval in effect.values
            ],
            hovertemplate="%{x}: %{text}<extra></extra>",
            showlegend=False,
            row=place // 2 + 1,
            col=place % 2 + 1,
        )
    apply_layout(figure, dark, f"effects {metric}")
    figure.update_layout(height=34 + 122 * rows, margin={"l": 4, "r": 4, "t": 24, "b": 4}, dragmode=False)
    figure.update_annotations(font_size=11)
    figure.update_xaxes(type="category", showgrid=False, fixedrange=True)
    return figure.update_yaxes(gridcolor=GRID[dark], automargin=True, fixedrange=True, nticks=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingCost:
    """What a setting costs: the least of the settings that share a row."""

    title: str
    """The title of the axis."""
    unit: str
    of: Callable[[SettingRow], float | None]


COSTS = {
    "tokens": SettingCost(
        title="tokens of context", unit="tokens", of=lambda row: row.tokens and row.tokens[0]
    ),
    "ms": SettingCost(
        title="milliseconds of ranking a question", unit="ms", of=lambda row: 1000 * row.seconds[0]
    ),
}
"""The costs that were measured."""


def dollars(price: Price) -> SettingCost:
    """Return the cost in US dollars of the contexts that a model reads for 1,000 questions."""

    def of(row: SettingRow) -> float | None:
        if row.tokens is None:
            return None
        read = Usage(prompt_tokens=round(1000 * row.tokens[0]), total_tokens=round(1000 * row.tokens[0]))
        return price.of(read).dollars

    return SettingCost(title=f"US dollars for 1,000 contexts read by {price.model}", unit="dollars", of=of)


def cost_chart(settings: SettingTable, cost: SettingCost, *, dark: bool) -> go.Figure:
    """Return a chart of the metric by a cost.

    The rows on the Pareto front are joined, the baseline is a diamond. A click on a point reports
    `setting/<name>`.
    """
    figure = go.Figure()
    rows = [(row, known) for row in settings.rows if (known := cost.of(row)) is not None]
    on_front = settings.pareto_front(cost.of)
    front = sorted(((row, known) for row, known in rows if row.name in on_front), key=lambda pair: pair[1])
    others = [(row, known) for row, known in rows if row.name not in on_front and row.test is not None]
    baseline = [(row, known) for row, known in rows if row.test is None]
    for name, some, colour, symbol, mode in (
        ("others", others, REST[dark], "circle", "markers"),
        ("Pareto front", front, SITES[dark][0], "circle", "lines+markers"),
        ("baseline", baseline, MARKER[dark], "diamond", "markers"),
    ):
        figure.add_scatter(
            x=[known for _, known in some],
            y=[row.mean.mean for row, _ in some],
            mode=mode,
            line={"width": 1.4, "color": colour, "shape": "hv"},
            marker={"size": 8, "color": colour, "symbol": symbol},
            name=name,
            customdata=[[f"setting/{row.name}"] for row, _ in some],
            text=[
                f"{markup.html(one_line(words(row.name), 80))}<br>{metric_text(row.mean.mean)}"
                for row, _ in some
            ],
            hovertemplate=f"%{{text}} for %{{x:,.3~g}} {cost.unit}<extra></extra>",
            showlegend=bool(some),
        )
    apply_layout(figure, dark, f"cost {settings.metric} {cost.title}")
    figure.update_layout(height=230, margin={"l": 4, "r": 4, "t": 24, "b": 26}, dragmode=False)
    figure.update_xaxes(title=markup.html(one_line(cost.title, 80)), gridcolor=GRID[dark], fixedrange=True)
    return figure.update_yaxes(gridcolor=GRID[dark], automargin=True, fixedrange=True, nticks=5)
