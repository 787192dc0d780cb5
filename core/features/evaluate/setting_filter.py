"""Axes of an experiment, each a knob or a figure, and ranges that filter its settings."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from core.features.evaluate.metrics.retrieval_metrics import CONTEXT_TOKENS
from core.features.evaluate.results import Results
from core.features.evaluate.setting_table import SettingTable, knob_effects
from core.features.evaluate.sweep import column, value_text, values_of
from core.text.display import metric_text

TOKENS, MILLISECONDS = "tokens", "ms"
"""The names of the axes for the cost of a setting."""
ROUNDING = 1e-4
"""The tolerance of a range, as a share of its axis, because addresses have six digits."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A knob or a figure for every setting of an experiment."""

    name: str
    """The path of the knob, or the name of the figure."""
    title: str
    share: float | None
    """The knob's share of the spread of the metric, or None for a figure."""
    values: tuple[str, ...]
    """The sorted values of a knob, or empty for a figure."""
    figures: tuple[float, ...]
    """The figure of each setting, or the index of its value in `values`. Missing figures are NaN."""

    @cached_property
    def low(self) -> float:
        """The smallest figure."""
        return min((figure for figure in self.figures if not math.isnan(figure)), default=0.0)

    @cached_property
    def high(self) -> float:
        """The largest figure."""
        return max((figure for figure in self.figures if not math.isnan(figure)), default=0.0)

    def height(self, figure: float) -> float:
        """Return the position of a figure on the axis, from 0 to 1. It is 0.5 if all figures are equal."""
        return (figure - self.low) / (self.high - self.low) if self.high > self.low else 0.5

    def text(self, figure: float) -> str:
        """Return the figure as written in an address."""
        return self.values[round(figure)] if self.values else f"{figure:.6g}"

    def figure(self, text: str) -> float | None:
        """Return the figure of a text, or None if the axis does not have it."""
        if self.values:
            return float(self.values.index(text)) if text in self.values else None
        try:
            figure = float(text)
        except ValueError:
            return None
        return figure if math.isfinite(figure) else None

    def shown(self, figure: float) -> str:
        """Return the figure as displayed."""
        if self.values:
            return self.text(figure)
        if self.name in (TOKENS, MILLISECONDS):
            return f"{figure:,.0f}" if figure >= 10 else f"{figure:.2g}"
        return metric_text(figure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The figures of an axis from `low` to `high`, both included."""

    axis: str
    low: float
    high: float


@lru_cache(maxsize=64)
def axes(results: Results, metric: str) -> tuple[Axis, ...]:
    """Return the axes of an experiment.

    First the knobs that vary, by their share of the spread, then the tokens of the context, the milliseconds per
    question and the metric.
    """
    knobs = [values_of(result.setting) for result in results.results]
    knob_axes = []
    for effect in knob_effects(results, metric):
        own = [values[effect.path] for values in knobs]
        distinct = list(dict.fromkeys(own))
        if all(isinstance(value, int | float) for value in distinct):
            distinct.sort()
        knob_axes.append(
            Axis(
                name=effect.path,
                title=column(effect.path),
                share=effect.share,
                values=tuple(value_text(effect.path, value) for value in distinct),
                figures=tuple(float(distinct.index(value)) for value in own),
            )
        )
    figures: dict[str, list[float | None]] = {
        TOKENS: [results.mean(result, CONTEXT_TOKENS) for result in results.results],
        MILLISECONDS: [1000 * result.seconds_a_question for result in results.results],
        metric: [results.mean(result, metric) for result in results.results],
    }
    return (
        *knob_axes,
        *(
            Axis(
                name=name,
                title=name,
                share=None,
                values=(),
                figures=tuple(math.nan if figure is None else figure for figure in own),
            )
            for name, own in figures.items()
        ),
    )


def read_ranges(texts: Iterable[str], known: Sequence[Axis]) -> tuple[Range, ...]:
    """Read ranges that `written` wrote, keeping the last range of each axis. Other texts are ignored."""
    by_name = {axis.name: axis for axis in known}
    ranges: dict[str, Range] = {}
    for text in texts:
        name, _, bounds = text.partition(":")
        first, separator, last = bounds.partition("..")
        axis = by_name.get(name)
        low, high = (axis.figure(first), axis.figure(last)) if axis and separator else (None, None)
        if low is not None and high is not None:
            ranges[name] = Range(axis=name, low=min(low, high), high=max(low, high))
    return tuple(ranges.values())


def written(some: Range, axis: Axis) -> str:
    """Return a range as written in an address: `chunk.size:300..500`."""
    return f"{axis.name}:{axis.text(some.low)}..{axis.text(some.high)}"


def range_text(some: Range, axis: Axis) -> str:
    """Return a range as displayed: `passage size 300 to 500`."""
    low, high = axis.shown(some.low), axis.shown(some.high)
    return f"{axis.title} {low}" if low == high else f"{axis.title} {low} to {high}"


def matching(results: Results, known: Sequence[Axis], ranges: Sequence[Range]) -> tuple[str, ...]:
    """Return the names of the settings inside all ranges."""
    by_name = {axis.name: axis for axis in known}

    def holds(some: Range, row: int) -> bool:
        axis = by_name[some.axis]
        rounding = ROUNDING * (axis.high - axis.low)
        return some.low - rounding <= axis.figures[row] <= some.high + rounding

    return tuple(
        result.setting
        for row, result in enumerate(results.results)
        if all(holds(some, row) for some in ranges)
    )


def filtered(table: SettingTable, settings: Iterable[str]) -> SettingTable:
    """Return the baseline and the rows with these settings. Tests stay corrected for all comparisons."""
    chosen = set(settings)
    rows = (row for row in table.rows[1:] if not chosen.isdisjoint(row.settings))
    return replace(table, rows=(table.rows[0], *rows))
