"""The settings of an experiment as a table.

It has a column for each knob, and the interval of the difference to the baseline.
"""

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from htpy import Element, Node, b, i, span, td, th, tr

from core.config.knob_changes import knob_values
from core.config.knobs import Knobs
from core.features.evaluate.metrics.metric_help import with_unit
from core.features.evaluate.setting_table import SettingRow, SettingTable
from core.features.evaluate.statistics.significance import Interval, p_number
from core.features.evaluate.sweep import column, value_text, words
from core.text.display import metric_text
from pages.parts import markup

TICKS = 4
"""The most figures on the axis of the intervals."""
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
FIGURES = {
    "Δ": "Difference to the baseline",
    "p": "How often chance alone makes such a difference: a paired randomization test, corrected after Holm, which asks more of each the more settings are compared",
    "tokens": "Mean tokens of the context, estimated",
    "ms": "Ranking and measuring one question",
}
"""The columns of figures after the interval, with their explanations."""
COSTS = ("tokens", "ms")
"""The columns that a narrow table leaves out, unless somebody chose columns."""
FEW_KNOBS = 3
"""With more varied knobs, the costs do not fit into a window of 1440 pixels."""


def settings_table(
    settings: SettingTable,
    opened: str,
    most: int,
    picked: Collection[str] = (),
    *,
    tested: bool = True,
    columns: Collection[str] | None = None,
) -> Element:
    """Return a table of the baseline and the best `most` other rows.

    The first knob of each row is a link that opens it, after a box that picks it for a comparison. `opened`
    and `picked` are names of settings. Rows that are not `tested` have neither a p-value nor a filled dot.
    `columns` are the chosen columns of `FIGURES`. With None the table has all that fit into its width.
    """
    rows = settings.rows[: most + 1]
    base = settings.rows[0].mean.mean
    low, high = _extent(rows)

    def place(difference: float) -> str:
        return f"{min(max((base + difference - low) / (high - low), 0.0), 1.0):.2%}"

    scale = span(".scale")[
        (
            span(style=f"left:{place(tick - base)}")[metric_text(tick).rstrip("0")]
            for tick in _ticks(low, high)
        )
    ]
    defaults = knob_values(Knobs())
    several = any(row.experiments for row in settings.rows)
    head = (
        th(scope="col")[span(".oq-unseen")["picked"]],
        *(th(scope="col", class_=_number(path))[column(path)] for path in settings.varied),
        *(() if settings.varied else ("setting",)),
        *(("experiment",) if several else ()),
        th(".n.strong", scope="col")[with_unit(settings.metric)],
        th(".plot", scope="col", aria_label="interval of the difference")[scale],
        (
            th(class_=_figure_class(name, columns), scope="col", title=title)[
                "p, at the end" if name == "p" and not tested else name
            ]
            for name, title in FIGURES.items()
            if columns is None or name in columns
        ),
    )
    drawn = (
        _row(row, settings, (opened, *picked), defaults, place, tested=tested, columns=columns)
        for row in rows
    )
    classes = "oq-settings" if len(settings.varied) <= FEW_KNOBS else "oq-settings many"
    return markup.data_table("Settings, best first", head, drawn, classes, style=f"--base:{place(0.0)}")


def _row(
    row: SettingRow,
    settings: SettingTable,
    chosen: Sequence[str],
    defaults: dict[str, Any],
    place: Callable[[float], str],
    *,
    tested: bool,
    columns: Collection[str] | None,
) -> Element:
    cells: list[Node] = [_knob(path, row.values[path], defaults[path]) for path in settings.varied] or [
        words(row.name)
    ]
    is_open, is_sure = row.name == chosen[0], tested and row.significant
    link = markup.pick_link("setting", row.name, current=is_open, aria_label=words(row.name))
    classes = {"baseline": row.test is None, "on": is_open}
    is_picked = not set(chosen[1:]).isdisjoint(row.settings)
    box = pick_box("compared", row.name, is_picked, f"compare {words(row.name)}")
    return tr(class_=classes)[
        td[row.test is not None and box],
        (
            td(class_=_number(path))[cell if number else link[cell]]
            for number, (path, cell) in enumerate(zip(settings.varied or ("",), cells, strict=True))
        ),
        any(each.experiments for each in settings.rows) and td[" = ".join(row.experiments)],
        td(".n.strong")[metric_text(row.mean.mean)],
        td(".plot")[
            i(".diamond") if row.test is None else interval_bar(place, row.test.difference, sure=is_sure)
        ],
        (
            td(class_=[_figure_class(name, columns), {"sure": name == "p" and is_sure}])[figure]
            for name, figure in _figures(row, tested=tested).items()
            if columns is None or name in columns
        ),
    ]


def _figures(row: SettingRow, *, tested: bool) -> dict[str, Node]:
    """Return the row's cells of `FIGURES`."""
    return {
        "Δ": span(".oq-tag.base")["baseline"]
        if row.test is None
        else metric_text(row.test.difference.mean, signed=True),
        "p": "" if row.test is None or not tested else p_number(row.test.p_value),
        "tokens": _range(row.tokens, 1),
        "ms": _range(row.seconds, 1000),
    }


def _figure_class(name: str, columns: Collection[str] | None) -> str:
    return "n cost" if columns is None and name in COSTS else "n"


def pick_box(kind: str, name: str, picked: bool, label: str) -> Element:
    """Return a checkbox that reports clicks like `pick_link`."""
    checked = "true" if picked else "false"
    return markup.pick_link(
        kind, name, class_="pick", role="checkbox", aria_checked=checked, aria_label=label
    )["✓" if picked else ""]


def _knob(path: str, values: Sequence[Any], default: Any) -> Node:
    """Return a knob's values, dark if they differ from the default. Several values have the same effect."""
    texts = [
        b[value_text(path, value)] if value != default else span(".default")[value_text(path, value)]
        for value in values
    ]
    return [[" = ", text] if place else text for place, text in enumerate(texts)]


def interval_bar(place: Callable[[float], str], difference: Interval, *, sure: bool) -> Element:
    """Return a difference's interval as a bar with a dot.

    The dot is filled if `sure`. `place` maps a difference to a percentage of the axis.
    """
    style = f"--low:{place(difference.low)};--high:{place(difference.high)};--dot:{place(difference.mean)}"
    label = f"{metric_text(difference.low, signed=True)} to {metric_text(difference.high, signed=True)}"
    return span(class_=["bar", {"sure": sure}], style=style, role="img", aria_label=label, title=label)[i, b]


def _extent(rows: Sequence[SettingRow]) -> tuple[float, float]:
    """Return the bounds of the axis. They span all intervals and some space, within 0 and 1."""
    base = rows[0].mean.mean
    differences = [row.test.difference for row in rows if row.test]
    low = base + min([0.0, *(difference.low for difference in differences)])
    high = base + max([0.0, *(difference.high for difference in differences)])
    space = max((high - low) * 0.04, 0.005)
    return max(low - space, 0.0), min(high + space, 1.0)


def _ticks(low: float, high: float) -> list[float]:
    step = next((step for step in STEPS if (high - low) / step <= TICKS), STEPS[-1])
    first, last = math.ceil(low / step), math.floor(high / step)
    return [step * place for place in range(first, last + 1)]


def _range(bounds: tuple[float, float] | None, factor: float) -> str:
    if bounds is None:
        return ""
    texts = [
        f"{bound * factor:,.0f}" if bound * factor >= 10 else f"{bound * factor:.1f}" for bound in bounds
    ]
    return texts[0] if texts[0] == texts[1] else "–".join(texts)


def _number(path: str) -> str:
    default = knob_values(Knobs()).get(path)
    return "n" if isinstance(default, int | float) and not isinstance(default, bool) else ""
