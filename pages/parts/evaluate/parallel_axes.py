"""Settings as parallel coordinates, with ranges that filter tables and charts.

The ranges are in the address. They are drawn along an axis, or chosen in the menu "Filter", which needs no
pointer.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st
from htpy import div

from core.features.evaluate.results import Results
from core.features.evaluate.setting_filter import (
    Axis,
    Range,
    axes,
    matching,
    range_text,
    read_ranges,
    written,
)
from core.text.sanitize import one_line, pluralize
from pages.parts import markup, widgets
from pages.parts.browser import component

FILTER = "filter"
"""The parameter of the address, once for each range."""
MOST_VALUES = 9
"""Most values to write next to an axis."""
STEPS = 50
"""Number of menu steps over the range of a figure."""

_parallel = component("parallel_axes", str(div(".oq-parallel")))


def chosen_settings(results: Results, metric: str) -> tuple[str, ...]:
    """Return the names of the settings in all ranges of the address."""
    known = axes(results, metric)
    return matching(results, known, read_ranges(st.query_params.get_all(FILTER), known))


def range_line(results: Results, metric: str, chosen: int) -> None:
    """Draw the ranges of the address, if any. `chosen` is the number of settings left."""
    known = axes(results, metric)
    ranges = read_ranges(st.query_params.get_all(FILTER), known)
    if not ranges:
        return
    by_name = {axis.name: axis for axis in known}
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="evaluate_filters"):
        for some in ranges:
            widgets.button(
                range_text(some, by_name[some.axis]),
                "close",
                _set,
                known,
                some.axis,
                None,
                key=f"evaluate_unfilter_{some.axis}",
                help="Take this range away",
            )
        st.markdown(
            f":small[**{chosen:,}** of {pluralize(len(results.results), 'setting')}]", width="content"
        )
        widgets.button("Clear", "filter_alt_off", _clear, key="evaluate_clear_filters", type="tertiary")


def filter_menu(results: Results, metric: str) -> None:
    """Draw the menu of ranges. Closed, it is not sent."""
    known = axes(results, metric)
    ranges = read_ranges(st.query_params.get_all(FILTER), known)
    menu = st.popover("Filter", icon=":material/filter_alt:", key="evaluate_filter", on_change="rerun")
    if not menu.open:
        return
    chosen = {some.axis: some for some in ranges}
    with menu:
        for axis in known:
            options = list(range(len(axis.values))) if axis.values else _steps(axis)
            if len(options) < 2:
                continue
            some = chosen.get(axis.name)
            low, high = (some.low, some.high) if some else (axis.low, axis.high)
            key = f"evaluate_range_{axis.name}_{low:.6g}_{high:.6g}"  # another range is another slider
            st.select_slider(
                axis.title,
                options,
                (_nearest(options, low), _nearest(options, high)),
                format_func=axis.shown,
                key=key,
                on_change=_choose,
                args=(known, axis, key),
            )


def _steps(axis: Axis) -> list[float]:
    return np.linspace(axis.low, axis.high, STEPS + 1).tolist() if axis.high > axis.low else []


def _nearest(options: Sequence[float], figure: float) -> float:
    return min(options, key=lambda option: abs(option - figure))


def _choose(known: Sequence[Axis], axis: Axis, key: str) -> None:
    low, high = st.session_state[key]
    whole = low <= axis.low and high >= axis.high
    _set(known, axis.name, None if whole else Range(axis=axis.name, low=low, high=high))


def _set(known: Sequence[Axis], name: str, some: Range | None) -> None:
    """Replace or remove the range of this axis in the address."""
    by_name = {axis.name: axis for axis in known}
    ranges = {old.axis: old for old in read_ranges(st.query_params.get_all(FILTER), known)}
    ranges.pop(name, None)
    if some:
        ranges[name] = some
    if ranges:
        st.query_params[FILTER] = [written(each, by_name[each.axis]) for each in ranges.values()]
    else:
        _clear()


def _clear() -> None:
    st.query_params.pop(FILTER, None)


def parallel_axes(results: Results, metric: str, baseline: str, on_pick: Any) -> None:
    """Draw settings as lines over parallel axes.

    The metric, on the last axis, sets the colour. The baseline is marked on every axis. `on_pick` gets the
    name of a clicked setting.
    """
    known = axes(results, metric)
    ranges = {some.axis: some for some in read_ranges(st.query_params.get_all(FILTER), known)}
    place = results.place(baseline)

    def brushed() -> None:
        drawn = getattr(st.session_state.get("evaluate_parallel"), "brush", None)
        if not isinstance(drawn, dict) or not isinstance(drawn.get("axis"), int | float):
            return
        axis = known[min(max(int(drawn["axis"]), 0), len(known) - 1)]
        match drawn.get("range"):
            case [int() | float() as low, int() | float() as high]:
                _set(known, axis.name, _brushed(axis, low, high))
            case _:
                _set(known, axis.name, None)

    def picked() -> None:
        line = getattr(st.session_state.get("evaluate_parallel"), "pick", None)
        if isinstance(line, int | float) and 0 <= line < len(results.results):
            on_pick(results.results[int(line)].setting)

    markup.show(
        markup.section_heading(
            "All settings",
            f"drag along an axis to filter, click it to stop; darker is more {metric}; the diamond is the baseline",
        )
    )
    data = {
        "label": f"{pluralize(len(results.results), 'setting')} on {len(known)} axes; the table below has the same figures.",
        "axes": [_drawn(axis, ranges.get(axis.name), place) for axis in known],
        "lines": [
            [
                -1 if math.isnan(axis.figures[row]) else round(1000 * axis.height(axis.figures[row]))
                for axis in known
            ]
            for row in range(len(results.results))
        ],
    }
    with st.container(key="evaluate_parallel_axes"):
        _parallel(key="evaluate_parallel", data=data, on_brush_change=brushed, on_pick_change=picked)


def _brushed(axis: Axis, low: float, high: float) -> Range | None:
    """Return the range between two heights of an axis.

    For an axis of values it covers the values between, or is None without any.
    """
    first, last = axis.low + low * (axis.high - axis.low), axis.low + high * (axis.high - axis.low)
    if axis.values:
        first, last = math.ceil(first - 1e-9), math.floor(last + 1e-9)
        if first > last:
            return None
    return Range(axis=axis.name, low=first, high=last)


def _drawn(axis: Axis, some: Range | None, baseline: int) -> dict[str, Any]:
    """Return the axis in the component's format, with heights from 0 to 1."""
    figures: Sequence[float] = (
        range(len(axis.values)) if axis.values else np.linspace(axis.low, axis.high, 4).tolist()
    )
    step = -(-len(figures) // MOST_VALUES) or 1
    figure = axis.figures[baseline]
    return {
        "title": one_line(axis.title, 22),
        "values": bool(axis.values),
        "note": "" if axis.share is None else f"{axis.share:.0%} of the spread",
        "ticks": [[axis.height(each), one_line(axis.shown(each), 14)] for each in figures[::step]],
        "base": None if math.isnan(figure) else axis.height(figure),
        "brush": some and [axis.height(some.low), axis.height(some.high)],
    }
