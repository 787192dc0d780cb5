"""Results of experiments: settings compared over the questions that they share."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput
from core.evaluation.experiment import Result
from core.evaluation.statistics.significance import (
    SIGNIFICANT,
    Interval,
    Verdict,
    holm,
    mean_interval,
    randomization_test,
    smallest_p_value,
)

LEAST_HALF = 10
"""The fewest questions that a winner is confirmed on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingTest:
    """One setting against the baseline, over the questions that both have."""

    setting: str
    questions: int
    baseline: float
    """The baseline's mean over these questions."""
    mean: float
    p_value: float
    """Of the paired randomization test, adjusted by Holm for all comparisons made together."""
    wins: int
    losses: int
    worst: tuple[tuple[str, float, float], ...]
    """Text, baseline's value and own value of the questions that lost most."""

    smallest_p: float
    """The p-value if all questions differed alike."""

    @property
    def verdict(self) -> Verdict:
        """The setting against the baseline."""
        if self.p_value > SIGNIFICANT:
            return Verdict.TOO_FEW if self.smallest_p > SIGNIFICANT else Verdict.NO_DIFFERENCE
        return Verdict.BETTER if self.mean > self.baseline else Verdict.WORSE


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The setting that is best on one half of the questions, measured on the other half."""

    setting: str
    chosen_on: int
    """The number of questions that it was chosen on."""
    questions: int
    """The number of questions that it is measured on."""
    mean: Interval
    baseline: Interval
    p_value: float
    """Of the paired randomization test against the baseline, on the questions that it is measured on."""


@dataclass(frozen=True, kw_only=True)
class Results:
    """What was measured on one data set with one embedder."""

    data: str
    embedder: str
    questions: Mapping[str, str]
    """The text of each question, by its id."""
    results: tuple[Result, ...]

    @cached_property
    def by_setting(self) -> Mapping[str, Result]:
        """The results by the names of their settings."""
        return {result.setting: result for result in self.results}

    def interval(self, result: Result, metric: str) -> Interval | None:
        """Mean and interval of a metric from 0 to 1, over the questions that have it; None where none has."""
        values = _values(result, metric)
        return mean_interval(values) if values else None

    def mean(self, result: Result, metric: str) -> float | None:
        """The mean of any metric over the questions that have it; None where none has."""
        values = _values(result, metric)
        return sum(values) / len(values) if values else None

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The names of all metrics that some question has."""
        return tuple(
            dict.fromkeys(
                name for result in self.results for values in result.values.values() for name in values
            )
        )

    def compare(
        self, baseline: str, metric: str, *, worst: int = 5, others: Collection[str] | None = None
    ) -> tuple[SettingTest, ...]:
        """Other settings against the baseline, best first.

        Args:
            baseline: the setting that they are compared with.
            metric: what is compared.
            worst: the most questions that are named for each.
            others: the settings to compare; all when None.

        Raises:
            BadInput: when there is no such setting, no other one, or no question in common.
        """
        base = self.setting(baseline)
        chosen = [
            result
            for result in self.results
            if result is not base and (others is None or result.setting in others)
        ]
        if not chosen:
            raise BadInput("There is only one setting.", hint="Name another folder, or sweep a knob.")
        pairs = [_paired(base, other, metric) for other in chosen]
        adjusted = holm([randomization_test(first, second) for _, first, second in pairs])
        tests = [
            SettingTest(
                setting=other.setting,
                questions=len(names),
                baseline=float(first.mean()),
                mean=float(second.mean()),
                p_value=p_value,
                smallest_p=smallest_p_value(len(names), len(chosen)),
                wins=int((second > first).sum()),
                losses=int((second < first).sum()),
                worst=tuple(
                    (self.questions[names[row]], float(first[row]), float(second[row]))
                    for row in np.argsort(second - first, kind="stable")[:worst]
                    if second[row] < first[row]
                ),
            )
            for other, (names, first, second), p_value in zip(chosen, pairs, adjusted, strict=True)
        ]
        return tuple(sorted(tests, key=lambda test: test.mean - test.baseline, reverse=True))

    def confirm(self, baseline: str, metric: str) -> Confirmation | None:
        """Choose the best setting on half of the questions, and measure it on the other half.

        Which half a question is in depends on its id alone. Only questions that have the metric under every setting
        are used. None when a half has fewer than `LEAST_HALF` of them, or there is one setting only.

        Raises:
            BadInput: when there is no such baseline.
        """
        base = self.setting(baseline)
        shared = [
            name
            for name in self.questions
            if all(metric in result.values.get(name, {}) for result in self.results)
        ]
        halves = [[name for name in shared if _half(name) == half] for half in (0, 1)]
        if len(self.results) < 2 or min(map(len, halves)) < LEAST_HALF:
            return None
        chosen_on, held_back = halves
        best = max(self.results, key=lambda result: sum(result.values[name][metric] for name in chosen_on))
        after = [best.values[name][metric] for name in held_back]
        before = [base.values[name][metric] for name in held_back]
        return Confirmation(
            setting=best.setting,
            chosen_on=len(chosen_on),
            questions=len(held_back),
            mean=mean_interval(after),
            baseline=mean_interval(before),
            p_value=randomization_test(before, after),
        )

    def setting(self, name: str) -> Result:
        """The result of this setting.

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


def _paired(
    base: Result, other: Result, metric: str
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    names = [
        name
        for name, values in base.values.items()
        if metric in values and metric in other.values.get(name, {})
    ]
    if not names:
        raise BadInput(
            f"No question has {metric} under both {base.setting} and {other.setting}.",
            hint="Choose a metric of the results.",
        )
    return (
        names,
        np.array([base.values[name][metric] for name in names]),
        np.array([other.values[name][metric] for name in names]),
    )


def _half(question: str) -> int:
    return crc32(question.encode()) % 2
