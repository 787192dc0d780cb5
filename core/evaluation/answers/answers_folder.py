"""Answers to the questions of a data set on disk: one folder, one line of JSON for each question, written as it is
answered. The first line says what was asked, of which models and under which setting."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from core.errors import BadInput
from core.evaluation.answers.answering import METRICS, AnsweredQuestion
from core.evaluation.data_sets.data_set import DataSet
from core.evaluation.data_sets.source import Source
from core.evaluation.record_file import RecordFile, RecordHeader
from core.evaluation.statistics.significance import Interval, mean_interval
from core.text.display import embedder_name

FILE = "answers.jsonl"


@dataclass(frozen=True, kw_only=True)
class AnswersHeader(RecordHeader):
    """What the answers of a folder are to, and of which models under which setting."""

    setting: str
    chat: str
    """The chat model; empty for extractive answers."""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The latest answer to each question, in the order of the questions."""

    header: AnswersHeader
    answers: tuple[AnsweredQuestion, ...]

    @cached_property
    def answered(self) -> tuple[AnsweredQuestion, ...]:
        """Those that did not fail."""
        return tuple(answer for answer in self.answers if not answer.failed)

    def intervals(self) -> dict[str, tuple[Interval, int]]:
        """The mean of each metric with its interval, and how many questions have it; a metric that none has
        is left out."""
        values = {
            name: [answer.values[name] for answer in self.answered if name in answer.values]
            for name in METRICS
        }
        return {name: (mean_interval(some), len(some)) for name, some in values.items() if some}


class AnswersFolder:
    """The answers to the questions of one data set, which can be continued."""

    def __init__(self, folder: Path, data: DataSet, *, setting: str, embedder: str, chat: str) -> None:
        """Begin, or continue what an earlier process left.

        Raises:
            BadInput: when the folder holds answers to other questions, of another model or under another setting.
            OSError: when it cannot be written.
        """
        header = AnswersHeader(
            data=data.name,
            setting=setting,
            embedder=embedder,
            chat=chat,
            questions={question.id: question.text for question in data.questions},
        )
        self._file = RecordFile(
            Source(folder / FILE), AnswersHeader, AnsweredQuestion, "Choose another folder."
        )
        earlier = self._file.begin(header)
        if earlier != header:
            raise BadInput(
                f"{folder} has answers to {earlier.data} by {earlier.chat or 'quotation'} with {embedder_name(earlier.embedder)}, "
                f"under {earlier.setting}.",
                hint="Choose another folder.",
            )

    @property
    def answers(self) -> Answers:
        """What is on disk. Raises `BadInput` when the file is damaged."""
        header, answers = self._file.read()
        latest = {answer.id: answer for answer in answers}
        return Answers(
            header=header, answers=tuple(latest[name] for name in header.questions if name in latest)
        )

    def add(self, answer: AnsweredQuestion) -> None:
        """Write an answer, which takes the place of an earlier one. It is on disk when this returns."""
        self._file.add(answer)
