"""Settings of an experiment compared with a baseline in a table, its files, and the effects of knobs."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from core.config.knob_changes import changes, knob_values
from core.config.knobs import Knobs
from core.features.evaluate.metrics.retrieval_metrics import CONTEXT_TOKENS
from core.features.evaluate.results import Results, SettingTest
from core.features.evaluate.statistics.significance import SIGNIFICANT, Interval, mean_interval
from core.features.evaluate.sweep import PREFIX, column, knobs_of, value_text, values_of
from core.text.sanitize import spreadsheet_cell

if TYPE_CHECKING:
    import pandas as pd

FORMATS: Mapping[str, str] = {".csv": "CSV", ".parquet": "Parquet", ".md": "Markdown table"}
"""The file formats of the table, by file name suffix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """Settings with the same metric for every question, against the baseline."""

    settings: tuple[str, ...]
    """The names of the settings: the baseline if included, then by the number of changed knobs."""
    values: Mapping[str, tuple[Any, ...]]
    """The values of each varied knob in these settings, by path."""
    mean: Interval
    test: SettingTest | None
    """The test against the baseline, or None for the baseline's row."""
    tokens: tuple[float, float] | None
    """The smallest and largest mean number of context tokens among these settings."""
    seconds: tuple[float, float]
    """The shortest and longest time of ranking and measuring one question, in seconds."""

    @property
    def name(self) -> str:
        """The name of the first setting."""
        return self.settings[0]

    @property
    def experiments(self) -> tuple[str, ...]:
        """The names of the settings' experiments, if several."""
        return tuple(dict.fromkeys(name for each in self.settings if (name := each.rpartition(PREFIX)[0])))

    @property
    def significant(self) -> bool:
        """Whether the corrected difference is significant."""
        return self.test is not None and self.test.p_value <= SIGNIFICANT


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingTable:
    """The settings of an experiment by one metric."""

    metric: str
    baseline: str
    varied: tuple[str, ...]
    """Paths of the knobs that differ between settings."""
    fixed: Mapping[str, Any]
    """The knobs that all settings change from the defaults in the same way."""
    rows: tuple[SettingRow, ...]
    """The baseline, then the other rows, best first."""
    comparisons: int
    """The number of tests against the baseline, for the correction of p-values."""

    def pareto_front(self, cost: Callable[[SettingRow], float | None]) -> frozenset[str]:
        """Return the names of rows on the Pareto front.

        No other row reaches as much at a lower cost, or more at the same cost. Rows without a cost are left out.
        """
        points = sorted(
            (known, -row.mean.mean, row.name) for row in self.rows if (known := cost(row)) is not None
        )
        front: list[tuple[float, float, str]] = []
        for point in points:
            if not front or point[1] < front[-1][1] or point[:2] == front[-1][:2]:
                front.append(point)
        return frozenset(name for _, _, name in front)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobEffect:
    """The effect of a knob's values on a metric."""

    path: str
    share: float
    """The share of the variance of the settings' means due to this knob.

    This is the main effect of an analysis of variance (Fisher 1925).
    """
    values: tuple[tuple[Any, Interval], ...]
    """Each value with the mean of its settings, and the interval over the questions. Numbers are in order."""


@lru_cache(maxsize=64)
def setting_table(results: Results, metric: str, baseline: str) -> SettingTable:
    """Compare the settings of an experiment with a baseline.

    Settings with equal metrics for every question share a row.

    Settings without any value of the metric are left out.

    Raises:
        BadInput: when there is no such setting, or one has no question in common with the baseline.
    """
    matrix, base = results.matrix(metric).values, results.place(baseline)
    measured = [row for row in range(len(matrix)) if not np.isnan(matrix[row]).all()]
    alike: dict[bytes, list[int]] = {}
    for row in (base, *(row for row in measured if row != base)):
        alike.setdefault(matrix[row].tobytes(), []).append(row)
    knobs = [values_of(result.setting) for result in results.results]
    defaults = knob_values(Knobs())
    varied = tuple(path for path in defaults if len({values[path] for values in knobs}) > 1)
    for rows in alike.values():
        rows.sort(
            key=lambda row: (row != base, len(changes(Knobs(), knobs_of(results.results[row].setting))))
        )
    others = [results.results[rows[0]].setting for rows in alike.values()][1:]
    compared = results.compare(baseline, metric, others=others) if others else ()
    tests = {test.setting: test for test in compared}
    rows_of = {results.results[rows[0]].setting: rows for rows in alike.values()}

    def row_of(name: str) -> SettingRow:
        members = [results.results[row] for row in rows_of[name]]
        own = matrix[rows_of[name][0]]
        seconds = [result.seconds_a_question for result in members]
        return SettingRow(
            settings=tuple(result.setting for result in members),
            values={path: tuple(dict.fromkeys(knobs[row][path] for row in rows_of[name])) for path in varied},
            mean=mean_interval(own[~np.isnan(own)]),
            test=tests.get(name),
            tokens=_extent([results.mean(result, CONTEXT_TOKENS) for result in members]),
            seconds=(min(seconds), max(seconds)),
        )

    fixed = {
        path: value for path, value in knobs[base].items() if path not in varied and value != defaults[path]
    }
    return SettingTable(
        metric=metric,
        baseline=baseline,
        varied=varied,
        fixed=fixed,
        rows=tuple(row_of(name) for name in (baseline, *tests)),
        comparisons=len(tests),
    )


@lru_cache(maxsize=64)
def knob_effects(results: Results, metric: str) -> tuple[KnobEffect, ...]:
    """Return the effect of each varied knob, the largest share of the variance first.

    Only questions with the metric under every setting count. The result is empty if no knob varies or no question
    counts.
    """
    results = results.with_metric(metric)
    matrix = results.matrix(metric).values
    shared = matrix[:, ~np.isnan(matrix).any(axis=0)]
    knobs = [values_of(result.setting) for result in results.results]
    if not shared.size:
        return ()
    means = shared.mean(axis=1)
    total = float(((means - means.mean()) ** 2).sum())
    effects = []
    for path in knobs[0]:
        rows: dict[Any, list[int]] = {}
        for row, values in enumerate(knobs):
            rows.setdefault(values[path], []).append(row)
        if len(rows) < 2:
            continue
        if all(isinstance(value, int | float) for value in rows):
            rows = dict(sorted(rows.items()))
        between = sum(len(some) * float(means[some].mean() - means.mean()) ** 2 for some in rows.values())
        effects.append(
            KnobEffect(
                path=path,
                share=between / total if total else 0.0,
                values=tuple(
                    (value, mean_interval(shared[some].mean(axis=0))) for value, some in rows.items()
                ),
            )
        )
    return tuple(sorted(effects, key=lambda effect: effect.share, reverse=True))


def _extent(figures: list[float | None]) -> tuple[float, float] | None:
    known = [figure for figure in figures if figure is not None]
    return (min(known), max(known)) if known else None


def to_frame(settings: SettingTable) -> pd.DataFrame:
    """Return a data frame with a row for each row of the table, the baseline first.

    The columns are each varied knob, the metric, its difference to the baseline with the bounds of its 95 % interval,
    p, wins, losses, and the least tokens and seconds per question.
    """
    import pandas as pd

    return pd.DataFrame([_record(row, settings) for row in settings.rows])


def table_file(settings: SettingTable, ending: str) -> bytes:
    """Return the table as a file in one of `FORMATS`.

    A text that a spreadsheet would run as a formula begins with an apostrophe in CSV.

    Raises:
        KeyError: for another ending.
    """
    table = to_frame(settings)
    if ending == ".parquet":
        buffer = io.BytesIO()
        table.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if ending == ".csv":
        return table.map(spreadsheet_cell).to_csv(index=False).encode("utf-8-sig")
    if ending == ".md":
        lines = [list(table.columns), ["---"] * len(table.columns)]
        lines += [[_cell(cell) for cell in row] for row in table.itertuples(index=False)]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines).encode()
    raise KeyError(ending)


def _record(row: SettingRow, settings: SettingTable) -> dict[str, Any]:
    test = row.test
    knobs = {
        column(path): " = ".join(value_text(path, value) for value in values)
        for path, values in row.values.items()
    }
    return {
        **knobs,
        settings.metric: row.mean.mean,
        "difference": test.difference.mean if test else 0.0,
        "low": test.difference.low if test else None,
        "high": test.difference.high if test else None,
        "p": test.p_value if test else None,
        "wins": test.wins if test else None,
        "losses": test.losses if test else None,
        "tokens": row.tokens[0] if row.tokens else None,
        "seconds": row.seconds[0],
    }


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return "" if value is None else str(value).replace("|", "\\|")
