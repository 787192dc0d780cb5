"""Results of experiments on disk: one folder, one line of JSON for each setting, written as it is computed.

The first line says what was measured. A line is on disk before the next setting begins, so a process that is killed
loses the setting that it was working on and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import FiniteFloat, TypeAdapter, ValidationError

from core.errors import BadInput
from core.evaluation.data_sets import suite
from core.evaluation.data_sets.data_set import DataSet
from core.evaluation.data_sets.lines import objects
from core.evaluation.data_sets.source import Source
from core.evaluation.experiment import Result
from core.evaluation.results import Results
from core.storage.json_lines import append_line, drop_torn_line
from core.text.display import embedder_name

if TYPE_CHECKING:
    import pandas as pd

FILE = suite.RESULTS
_TEXTS = TypeAdapter(dict[str, str])
_VALUES = TypeAdapter(dict[str, dict[str, FiniteFloat]])
_DAMAGED = "Run the experiment into another folder, or freeze the suite again."


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
        self._path.touch()
        drop_torn_line(self._path)
        if not self._path.stat().st_size:
            append_line(self._path, header)
        elif (earlier := _read(Source(self._path))).questions != questions or earlier.embedder != embedder:
            raise BadInput(
                f"{folder} has results of {earlier.data} with {embedder_name(earlier.embedder)}.",
                hint="Choose another folder.",
            )

    @property
    def results(self) -> Results:
        return _read(Source(self._path))

    def add(self, result: Result) -> None:
        """Write a result. It is on disk when this returns."""
        append_line(self._path, asdict(result))


def read_results(*folders: Path) -> Results:
    """The results of one folder or suite, or of several over the same questions; a setting's name gets its folder's
    then, where two folders have it.

    Raises:
        BadInput: when a folder has no results, or other questions than the first.
    """
    found = [_read(_file(folder)) for folder in folders]
    first = found[0]
    if any(one.questions != first.questions for one in found):
        raise BadInput(
            "The folders have results of different questions.", hint="Compare runs of one data set."
        )
    names = [result.setting for one in found for result in one.results]
    results = (
        replace(result, setting=f"{folder.name}: {result.setting}")
        if names.count(result.setting) > 1
        else result
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


def _file(folder: Path) -> Source:
    return Source(folder, FILE) if folder.suffix.lower() == suite.SUITE else Source(folder / FILE)


def _read(source: Source) -> Results:
    number = 1
    try:
        lines = objects(source, whole=True)
        _, header = next(lines, (1, {}))
        results = []
        for number, line in lines:  # noqa: B007 - which line it was is told below
            results.append(_result(line))
        return Results(
            data=str(header["data"]),
            embedder=str(header["embedder"]),
            questions=_TEXTS.validate_python(header["questions"]),
            results=tuple(results),
        )
    except FileNotFoundError as error:
        raise BadInput(
            f"{source.path.parent} has no results.", hint="Name a folder of openquery eval run."
        ) from error
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise BadInput(f"{source.name}, line {number} is damaged: {fault['msg']}.", hint=_DAMAGED) from error
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise BadInput(
            f"{source.name}, line {number} is damaged: {type(error).__name__} {error}.", hint=_DAMAGED
        ) from error


def _result(line: Mapping[str, Any]) -> Result:
    return Result(
        setting=str(line["setting"]),
        values=_VALUES.validate_python(line["values"]),
        failed=_TEXTS.validate_python(line["failed"]),
        passages=int(line["passages"]),
        seconds=float(line["seconds"]),
    )
