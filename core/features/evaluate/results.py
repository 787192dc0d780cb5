"""Results of experiments: settings compared over their common questions."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from statistics import NormalDist
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput
from core.features.evaluate.experiment import Result
from core.features.evaluate.statistics.significance import (
    SIGNIFICANT,
    Interval,
    Verdict,
    difference_intervals,
    holm,
    mean_interval,
    randomization_tests,
    smallest_p_value,
)

LEAST_HALF = 10
"""The fewest questions for a confirmation."""
POWER = 0.8
"""The planned chance of a confirmation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingTest:
    """A setting against the baseline, over their common questions."""

    setting: str
    questions: int
    baseline: float
    """The baseline's mean over these questions."""
    mean: float
    difference: Interval
    """Mean minus baseline, with the interval of the paired difference."""
    p_value: float
    """The p-value of the paired randomization test, adjusted by Holm for all comparisons made together."""
    wins: int
    losses: int
    spread: float
    """Standard deviation of the questions' differences."""
    smallest_p: float
    """The smallest possible p-value: every question differs in the same direction."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the setting against the baseline."""
        if self.p_value > SIGNIFICANT:
            return Verdict.TOO_FEW if self.smallest_p > SIGNIFICANT else Verdict.NO_DIFFERENCE
        return Verdict.BETTER if self.mean > self.baseline else Verdict.WORSE


@dataclass(frozen=True, slots=True)
class Change:
    """A metric of one question under the baseline and under another setting."""

    question: str
    """The id of the question."""
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The best setting on half of the questions, tested against the baseline on both halves."""

    setting: str
    chosen_on: SettingTest
    """The test on the questions that chose the setting, which flatter it."""
    held_out: SettingTest
    """The test on the other questions."""

    @property
    def confirmed(self) -> bool:
        """Whether the setting beats the baseline on held-out questions."""
        return self.held_out.verdict is Verdict.BETTER

    @property
    def more_questions(self) -> int | None:
        """The estimated number of missing questions, or None.

        Half of them would be held out. They confirm a difference as large as on the held-out half with a chance of
        `POWER`, by the power of a paired z-test (Cohen 1988). None if the setting is confirmed or not better there.
        """
        held_out = self.held_out
        if self.confirmed or held_out.difference.mean <= 0:
            return None
        quantiles = NormalDist().inv_cdf(1 - SIGNIFICANT / 2) + NormalDist().inv_cdf(POWER)
        needed = math.ceil((quantiles * held_out.spread / held_out.difference.mean) ** 2)
        return max(2 * (needed - held_out.questions), 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """One metric for every setting and question."""

    questions: tuple[str, ...]
    """Ids of the questions that have the metric under any setting."""
    values: NDArray[np.float64]
    """Shape (settings, questions), with NaN for a missing value."""

    def test(self, names: Sequence[str], baseline: int, rows: Sequence[int]) -> tuple[SettingTest, ...]:
        """Test the settings in `rows` against the setting in row `baseline`, in the given order.

        `names` are the names of all settings.

        Raises:
            BadInput: when a setting and the baseline have no question in common.
        """
        tests: dict[int, SettingTest] = {}
        shared = ~np.isnan(self.values[baseline]) & ~np.isnan(self.values[rows])
        groups: dict[bytes, list[int]] = {}
        for row, mask in zip(rows, shared, strict=True):
            if not mask.any():
                raise BadInput(
                    f"No question has that metric under both {names[baseline]} and {names[row]}.",
                    hint="Choose a metric of the results.",
                )
            groups.setdefault(mask.tobytes(), []).append(row)
        for key, members in groups.items():
            columns = np.flatnonzero(np.frombuffer(key, dtype=bool))
            before, after = self.values[baseline, columns], self.values[members][:, columns]
            intervals, p_values = difference_intervals(after - before), randomization_tests(after - before)
            for place, row in enumerate(members):
                differences = after[place] - before
                tests[row] = SettingTest(
                    setting=names[row],
                    questions=len(columns),
                    baseline=float(before.mean()),
                    mean=float(after[place].mean()),
                    difference=intervals[place],
                    p_value=float(p_values[place]),
                    smallest_p=smallest_p_value(len(columns), len(rows)),
                    wins=int((differences > 0).sum()),
                    losses=int((differences < 0).sum()),
                    spread=float(differences.std(ddof=1)) if len(columns) > 1 else 0.0,
                )
        return tuple(tests[row] for row in rows)


@dataclass(frozen=True, kw_only=True, eq=False)
class Results:
    """The measurements on one data set with one embedder."""

    data: str
    embedder: str
    questions: Mapping[str, str]
    """The text of each question, by its id."""
    results: tuple[Result, ...]
    planned: int | None = None
    """The number of planned settings, or None in files of earlier versions."""

    @property
    def is_part(self) -> bool:
        """Whether planned settings are known to be missing."""
        return self.planned is not None and len(self.results) < self.planned

    @cached_property
    def by_setting(self) -> Mapping[str, Result]:
        """The results by setting name."""
        return {result.setting: result for result in self.results}

    def interval(self, result: Result, metric: str) -> Interval | None:
        """Return mean and interval of a metric from 0 to 1, or None if no question has it."""
        values = _values(result, metric)
        return mean_interval(values) if values else None

    def mean(self, result: Result, metric: str) -> float | None:
        """Return the mean of any metric over the questions that have it, or None."""
        values = _values(result, metric)
        return sum(values) / len(values) if values else None

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The names of all metrics with a value."""
        return tuple(
            dict.fromkeys(
                name for result in self.results for values in result.values.values() for name in values
            )
        )

    @lru_cache(maxsize=64)  # noqa: B019 - few results are open, and each has few metrics
    def matrix(self, metric: str) -> Matrix:
        """Return the metric of every setting and question. Rows are in the order of `results`."""
        questions = [
            name
            for name in self.questions
            if any(metric in result.values.get(name, {}) for result in self.results)
        ]
        values = [
            [result.values.get(name, {}).get(metric, math.nan) for name in questions]
            for result in self.results
        ]
        return Matrix(
            questions=tuple(questions),
            values=np.array(values, dtype=np.float64).reshape(len(self.results), len(questions)),
        )

    def with_metric(self, metric: str) -> "Results":
        """Return the results with a value of the metric. A failed setting has none."""
        names = tuple(
            result.setting
            for result in self.results
            if any(metric in values for values in result.values.values())
        )
        return self.of_settings(names)

    @lru_cache(maxsize=16)  # noqa: B019 - as above
    def of_settings(self, names: tuple[str, ...]) -> "Results":
        """Return the results of these settings alone."""
        chosen = set(names)
        if chosen.issuperset(self.by_setting):
            return self
        return replace(self, results=tuple(result for result in self.results if result.setting in chosen))

    def compare(
        self, baseline: str, metric: str, *, others: Collection[str] | None = None
    ) -> tuple[SettingTest, ...]:
        """Compare other settings with the baseline, best first.

        `others` defaults to all settings with the metric. Holm's correction is for the number of returned comparisons.

        Raises:
            BadInput: when there is no such setting or metric, no other setting, or no question in common.
        """
        names, base = [*self.by_setting], self.place(baseline)
        others = self.with_metric(metric).by_setting if others is None else others
        rows = [row for row, name in enumerate(names) if row != base and name in others]
        if metric not in self.metrics:
            raise BadInput(f"These results have no {metric!r}.", hint=f"They have {', '.join(self.metrics)}.")
        if not rows:
            raise BadInput("There is only one setting.", hint="Name another folder, or sweep a knob.")
        tests = self.matrix(metric).test(names, base, rows)
        adjusted = holm([test.p_value for test in tests])
        tests = tuple(replace(test, p_value=p_value) for test, p_value in zip(tests, adjusted, strict=True))
        return tuple(sorted(tests, key=lambda test: test.difference.mean, reverse=True))

    def confirm(self, baseline: str, metric: str) -> Confirmation | None:
        """Choose the best setting on half of the questions, and test it on the other half.

        The half of a question depends on its id alone. Only questions with the metric under every setting are used,
        without failed settings. The best setting may be the baseline itself. Returns None with a single setting, or if
        a half has fewer than `LEAST_HALF` questions.

        Raises:
            BadInput: when there is no such baseline.
        """
        whole = self.with_metric(metric)
        if whole is not self and baseline in whole.by_setting:
            return whole.confirm(baseline, metric)
        names, base, matrix = [*self.by_setting], self.place(baseline), self.matrix(metric)
        shared = ~np.isnan(matrix.values).any(axis=0)
        half = np.array([crc32(name.encode()) % 2 for name in matrix.questions], dtype=bool)
        halves = [
            Matrix(
                questions=tuple(np.array(matrix.questions)[columns].tolist()),
                values=matrix.values[:, columns],
            )
            for columns in (shared & ~half, shared & half)
        ]
        if len(names) < 2 or min(len(part.questions) for part in halves) < LEAST_HALF:
            return None
        best = int(halves[0].values.mean(axis=1).argmax())
        (chosen_on,), (held_out,) = (part.test(names, base, [best]) for part in halves)
        return Confirmation(setting=names[best], chosen_on=chosen_on, held_out=held_out)

    def changes(self, baseline: str, setting: str, metric: str) -> tuple[Change, ...]:
        """Return the metric of each question under both settings, largest loss first.

        Raises:
            BadInput: when there is no such setting.
        """
        matrix = self.matrix(metric)
        before, after = matrix.values[self.place(baseline)], matrix.values[self.place(setting)]
        order = np.argsort(after - before, kind="stable").tolist()
        return tuple(
            Change(matrix.questions[column], float(before[column]), float(after[column]))
            for column in order
            if not np.isnan(after[column] - before[column])
        )

    def place(self, name: str) -> int:
        """Return the row of this setting in `results` and in every `matrix`.

        Raises:
            BadInput: when there is none.
        """
        return self.results.index(self.setting(name))

    def setting(self, name: str) -> Result:
        """Return the result of this setting.

        Raises:
            BadInput: when there is none.
        """
        if name not in self.by_setting:
            raise BadInput(
                f"There is no setting {name!r}.", hint=f"There are: {'; '.join([*self.by_setting][:10])}."
            )
        return self.by_setting[name]


def _values(result: Result, metric: str) -> list[float]:
    return [values[metric] for values in result.values.values() if metric in values]
