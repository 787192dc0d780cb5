"""Answers to the questions of a data set on disk: one folder, one line of JSON for each question, written as it is
answered. The first line says what was asked, of which models and under which setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from core.errors import BadInput
from core.evaluation.answers.answering import METRICS, AnsweredQuestion
from core.evaluation.data_sets.data_set import DataSet
from core.evaluation.data_sets.lines import objects
from core.evaluation.data_sets.source import Source
from core.evaluation.statistics.significance import Interval, mean_interval
from core.storage.json_lines import append_line, drop_torn_line
from core.text.display import embedder_name

FILE = "answers.jsonl"
_HINT = "Choose another folder."


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the answers of a folder are to, and whose they are."""

    data: str
    setting: str
    embedder: str
    chat: str
    """The chat model; empty for extractive answers."""
    questions: Mapping[str, str]
    """The text of each question, by its id."""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The latest answer to each question, in the order of the questions."""

    asked: Asked
    answers: tuple[AnsweredQuestion, ...]

    @cached_property
    def answered(self) -> tuple[AnsweredQuestion, ...]:
        """Those that did not fail."""
        return tuple(one for one in self.answers if not one.failed)

    def intervals(self) -> dict[str, tuple[Interval, int]]:
        """The mean of each metric with its interval, and how many questions have it; a metric that none has
        is left out."""
        values = {name: [one.values[name] for one in self.answered if name in one.values] for name in METRICS}
        return {name: (mean_interval(some), len(some)) for name, some in values.items() if some}


class AnswersFolder:
    """The answers to the questions of one data set, which can be continued."""

    def __init__(self, folder: Path, data: DataSet, *, setting: str, embedder: str, chat: str) -> None:
        """Begin, or continue what an earlier process left.

        Raises:
            BadInput: when the folder holds answers to other questions, of another model or under another setting.
            OSError: when it cannot be written.
        """
        asked = Asked(
            data=data.name,
            setting=setting,
            embedder=embedder,
            chat=chat,
            questions={one.id: one.text for one in data.questions},
        )
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / FILE
        self._path.touch()
        drop_torn_line(self._path)
        if not self._path.stat().st_size:
            append_line(self._path, asdict(asked))
        elif (earlier := self.answers.asked) != asked:
            raise BadInput(
                f"{folder} has answers to {earlier.data} by {earlier.chat or 'quotation'} with {embedder_name(earlier.embedder)}, "
                f"under {earlier.setting}.",
                hint=_HINT,
            )

    @property
    def answers(self) -> Answers:
        """What is on disk.

        Raises:
            BadInput: when the file is damaged.
        """
        try:
            header, *rest = (line for _, line in objects(Source(self._path), whole=True))
            asked = _ASKED.validate_python(header)
            latest = {one.id: one for one in _ANSWERS.validate_python(rest)}
            return Answers(
                asked=asked, answers=tuple(latest[name] for name in asked.questions if name in latest)
            )
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
            raise BadInput(f"{self._path} is damaged: {fault['msg']}.", hint=_HINT) from error
        except ValueError as error:
            raise BadInput(f"{self._path} is damaged: {error}.", hint=_HINT) from error

    def add(self, answer: AnsweredQuestion) -> None:
        """Write an answer, which takes the place of an earlier one. It is on disk when this returns."""
        append_line(self._path, asdict(answer))


_ASKED = TypeAdapter(Asked)
_ANSWERS = TypeAdapter(list[AnsweredQuestion])
