"""Results of experiments on disk: one folder, one line of JSON for each setting, written as it is computed.

The first line says what was measured. A line is on disk before the next setting begins, so a process that is killed
loses the setting that it was working on and nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput
from core.evaluation.data_sets import DataSet
from core.evaluation.experiment import Result
from core.evaluation.significance import SIGNIFICANT, Interval, bootstrap_interval, holm, randomization_test

if TYPE_CHECKING:
    import pandas as pd

FILE = "results.jsonl"
LEAST_HALF = 10
"""The fewest questions that a winner is confirmed on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
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

    @property
    def verdict(self) -> str:
        if self.p_value > SIGNIFICANT:
            return "no difference shown"
        return "better" if self.mean > self.baseline else "worse"


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
    """What a folder holds."""

    data: str
    embedder: str
    questions: Mapping[str, str]
    """The text of each question, by its id."""
    results: tuple[Result, ...]

    @cached_property
    def by_setting(self) -> Mapping[str, Result]:
        return {result.setting: result for result in self.results}

    def interval(self, result: Result, metric: str) -> Interval | None:
        """Mean and interval over the questions that have the metric; None where none has."""
        values = [one[metric] for one in result.values.values() if metric in one]
        return bootstrap_interval(values) if values else None

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
    ) -> tuple[Comparison, ...]:
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
            one for one in self.results if one is not base and (others is None or one.setting in others)
        ]
        if not chosen:
            raise BadInput("There is only one setting.", hint="Name another folder, or sweep a knob.")
        pairs = [_paired(base, other, metric) for other in chosen]
        adjusted = holm([randomization_test(first, second) for _, first, second in pairs])
        found = [
            Comparison(
                setting=other.setting,
                questions=len(names),
                baseline=float(first.mean()),
                mean=float(second.mean()),
                p_value=p_value,
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
        return tuple(sorted(found, key=lambda one: one.mean - one.baseline, reverse=True))

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
        seen, held_back = halves
        best = max(self.results, key=lambda one: sum(one.values[name][metric] for name in seen))
        after = [best.values[name][metric] for name in held_back]
        before = [base.values[name][metric] for name in held_back]
        return Confirmation(
            setting=best.setting,
            chosen_on=len(seen),
            questions=len(held_back),
            mean=bootstrap_interval(after),
            baseline=bootstrap_interval(before),
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


class ResultsFolder:
    """The results of one experiment, which can be continued."""

    def __init__(self, folder: Path, data: DataSet, embedder: str) -> None:
        """Begin, or continue what an earlier process left.

        Raises:
            BadInput: when the folder holds results of other questions or of another embedder.
            OSError: when it cannot be written.
        """
        questions = {one.id: one.text for one in data.questions}
        header = {"data": data.name, "embedder": embedder, "questions": questions}
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / FILE
        if not self._path.exists() or not self._path.stat().st_size:
            self._append(header)
        elif (earlier := _read(self._path)).questions != questions or earlier.embedder != embedder:
            raise BadInput(
                f"{folder} has results of {earlier.data} with {earlier.embedder}.",
                hint="Choose another folder.",
            )
        else:
            _drop_torn_line(self._path)

    @property
    def results(self) -> Results:
        return _read(self._path)

    def add(self, result: Result) -> None:
        """Write a result. It is on disk when this returns."""
        self._append(asdict(result))

    def _append(self, value: Mapping[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(value, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())


def read_results(*folders: Path) -> Results:
    """The results of one folder, or of several over the same questions; a setting's name gets its folder's then,
    where two folders have it.

    Raises:
        BadInput: when a folder has no results, or other questions than the first.
    """
    found = [_read(folder / FILE) for folder in folders]
    first = found[0]
    if any(one.questions != first.questions for one in found):
        raise BadInput(
            "The folders have results of different questions.", hint="Compare runs of one data set."
        )
    names = [result.setting for one in found for result in one.results]
    results = (
        _renamed(result, f"{folder.name}: {result.setting}") if names.count(result.setting) > 1 else result
        for folder, one in zip(folders, found, strict=True)
        for result in one.results
    )
    return Results(
        data=first.data, embedder=first.embedder, questions=first.questions, results=tuple(results)
    )


def load(folder: Path | str) -> pd.DataFrame:
    """The results as a table: a row for each setting and question, with the columns setting, question, text, failed
    (why, or empty) and one for each metric.

    Raises:
        BadInput: when the folder has no results.
    """
    import pandas as pd

    results = read_results(Path(folder))
    return pd.DataFrame(
        {"setting": result.setting, "question": name, "text": text, "failed": result.failed.get(name, "")}
        | dict(result.values.get(name, {}))
        for result in results.results
        for name, text in results.questions.items()
    )


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


def _read(path: Path) -> Results:
    try:
        header, *rest = _objects(path)
        return Results(
            data=header["data"],
            embedder=header["embedder"],
            questions=header["questions"],
            results=tuple(Result(**one) for one in rest),
        )
    except FileNotFoundError as error:
        raise BadInput(
            f"{path.parent} has no results.", hint="Name a folder of openquery eval run."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(
            f"{path} is damaged: {error}.", hint="Run the experiment into another folder."
        ) from error


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    """Every whole line; the last one may have been cut by the end of a process."""
    for line in path.read_text("utf-8", errors="replace").splitlines(keepends=True):
        if line.endswith("\n"):
            yield json.loads(line)


def _drop_torn_line(path: Path) -> None:
    with path.open("r+b") as file:
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)


def _renamed(result: Result, name: str) -> Result:
    return Result(**(asdict(result) | {"setting": name}))
