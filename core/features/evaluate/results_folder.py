"""Results of experiments on disk.

A folder has one line of JSON for each setting, written when it is computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import BadInput
from core.features.evaluate.data_sets import suite
from core.features.evaluate.data_sets.data_set import DataSet
from core.features.evaluate.data_sets.source import Source
from core.features.evaluate.experiment import Result
from core.features.evaluate.record_file import RecordFile, RecordHeader
from core.features.evaluate.results import Results
from core.features.evaluate.sweep import PREFIX
from core.text.display import embedder_name

if TYPE_CHECKING:
    import pandas as pd

FILE = suite.RESULTS
_DAMAGED = "Run the experiment into another folder, or freeze the suite again."


@dataclass(frozen=True, kw_only=True)
class ResultsHeader(RecordHeader):
    """The data set, embedder and questions of the results in a file."""

    settings: int | None = None
    """The number of planned settings, or None in files of earlier versions."""


class ResultsFolder:
    """The results of one experiment, which can be continued."""

    def __init__(self, folder: Path, data: DataSet, embedder: str, settings: Collection[str] = ()) -> None:
        """Create the folder, or continue an earlier process's work. `settings` are the names to measure.

        Raises:
            BadInput: when the folder holds results of other questions or of another embedder, or its file is damaged.
            OSError: when it cannot be written.
        """
        header = ResultsHeader.of(data, embedder=embedder, settings=len(settings) or None)

        def wrong(earlier: ResultsHeader) -> str:
            is_same = (earlier.questions, earlier.embedder) == (header.questions, header.embedder)
            return "" if is_same else f"results of {earlier.data} with {embedder_name(earlier.embedder)}"

        self._file = _record_file(Source(folder / FILE))
        self._file.begin(header, wrong)
        try:
            self._plan(settings)
        except BaseException:
            self._file.close()
            raise

    def _plan(self, settings: Collection[str]) -> None:
        """Write the number of settings to the header."""
        earlier, measured = self._file.read()
        planned = len({*settings, *(result.setting for result in measured)})
        if settings and planned != earlier.settings:
            self._file.replace_header(replace(earlier, settings=planned))

    @property
    def results(self) -> Results:
        """The results on disk. Raises `BadInput` for a damaged file."""
        return _results(self._file)

    def close(self) -> None:
        """Let other processes continue the experiment."""
        self._file.close()

    def add(self, result: Result) -> None:
        """Write a result. The result is on disk on return."""
        self._file.add(result)


def read_results(*folders: Path) -> Results:
    """Read the results of a folder or suite, or of several over the same questions.

    If two folders have the same setting, its names get the folder's name.

    Raises:
        BadInput: when a folder has no results, or other questions than the first.
    """
    return joined(tuple(folder.name for folder in folders), tuple(map(_read, folders)))


@lru_cache(maxsize=8)
def joined(names: tuple[str, ...], parts: tuple[Results, ...]) -> Results:
    """Join results over the same questions, in order.

    If parts share a setting or differ in the embedder, settings get the name of their part, such as `first:
    rank.top_k:3`. A repeated name gets a number.

    Raises:
        BadInput: when their questions differ.
    """
    first = parts[0]
    if any(part.questions != first.questions for part in parts):
        raise BadInput(
            f"{' and '.join(names)} have results of different questions.",
            hint="Compare experiments over one data set.",
        )
    called = [
        f"{name} ({names[:place].count(name) + 1})" if name in names[:place] else name
        for place, name in enumerate(names)
    ]
    occurrences = Counter(result.setting for part in parts for result in part.results)
    mixed = len({part.embedder for part in parts}) > 1
    results = (
        replace(result, setting=f"{name}{PREFIX}{result.setting}")
        if mixed or occurrences[result.setting] > 1
        else result
        for name, part in zip(called, parts, strict=True)
        for result in part.results
    )
    planned = [part.planned for part in parts]
    known = [count for count in planned if count is not None]
    return replace(first, results=tuple(results), planned=sum(known) if len(known) == len(planned) else None)


def load(folder: Path | str) -> pd.DataFrame:
    """Return the results as a table with a row for each setting and question.

    The columns are setting, question, text, failed (the reason, or ""), and one for each metric.

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


def _read(folder: Path) -> Results:
    is_suite = folder.suffix.lower() == suite.SUITE
    try:
        return _results(_record_file(Source(folder, FILE) if is_suite else Source(folder / FILE)))
    except FileNotFoundError as error:
        raise BadInput(
            f"{folder.parent if is_suite else folder} has no results.",
            hint="Name a folder of openquery eval run.",
        ) from error


def _record_file(source: Source) -> RecordFile[ResultsHeader, Result]:
    return RecordFile(source, ResultsHeader, Result, _DAMAGED)


def _results(file: RecordFile[ResultsHeader, Result]) -> Results:
    header, results = file.read()
    return Results(
        data=header.data,
        embedder=header.embedder,
        questions=header.questions,
        results=tuple(results),
        planned=header.settings,
    )
