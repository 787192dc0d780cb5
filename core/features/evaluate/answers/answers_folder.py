"""Answers to the questions of a data set, in one folder on disk.

Each answer is written as a line of JSON when it is ready. The first line names the questions, the models and the
setting. The verdicts of a judge are in a second file of the same form.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing, closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Self

from core.analysis.answers.llm_judge import Judge
from core.config.knob_changes import apply_changes
from core.config.knobs import Knobs
from core.features.evaluate.answers.answering import CHANGED, METRICS, AnsweredQuestion
from core.features.evaluate.answers.judged_answers import (
    JudgedAnswer,
    JudgedAnswers,
    JudgeHeader,
    LabelledClaim,
    agreement,
    judge_answers,
)
from core.features.evaluate.data_sets.data_set import DataSet
from core.features.evaluate.data_sets.source import Source
from core.features.evaluate.experiment_state import StoredTask
from core.features.evaluate.metrics.metric_help import ENTAILED
from core.features.evaluate.record_file import RecordFile, RecordHeader
from core.features.evaluate.statistics.significance import (
    Interval,
    difference_interval,
    mean_interval,
    randomization_test,
)
from core.features.evaluate.sweep import DEFAULTS
from core.text.display import embedder_name

FILE, JUDGED = "answers.jsonl", "judged.jsonl"
_HINT = "Choose another folder."


@dataclass(frozen=True, kw_only=True)
class AnswersHeader(RecordHeader):
    """The questions, models and setting of the answers in a folder."""

    setting: str
    chat: str
    """The chat model, or "" for extractive answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """A metric of answers minus a baseline, over their common questions."""

    difference: Interval
    p_value: float
    """The p-value of the paired randomization test, for this metric alone."""
    questions: int


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The latest answer to each question, in the order of the questions."""

    header: AnswersHeader
    answers: tuple[AnsweredQuestion, ...]
    judged: JudgedAnswers | None = None
    """The verdicts of a judge, or None without a judge."""

    @cached_property
    def answered(self) -> tuple[AnsweredQuestion, ...]:
        """The answers that did not fail."""
        return tuple(answer for answer in self.answers if not answer.failed)

    @cached_property
    def values(self) -> dict[str, dict[str, float]]:
        """The values of each metric, by question id. Metrics without any value are left out."""
        values = {
            name: {answer.id: answer.values[name] for answer in self.answered if name in answer.values}
            for name in METRICS
        }
        values[ENTAILED] = self.judged.by_answer if self.judged else {}
        return {name: some for name, some in values.items() if some}

    @cached_property
    def intervals(self) -> dict[str, tuple[Interval, int]]:
        """The mean and interval of each metric, and its number of questions."""
        return {name: (mean_interval(list(some.values())), len(some)) for name, some in self.values.items()}

    def differences(self, baseline: Answers) -> dict[str, PairedDifference]:
        """Return the difference to a baseline for each metric, over their common questions."""
        differences = {}
        for name, ours in self.values.items():
            common = [question for question in baseline.values.get(name, {}) if question in ours]
            before = [baseline.values[name][question] for question in common]
            after = [ours[question] for question in common]
            if common:
                differences[name] = PairedDifference(
                    difference=difference_interval(before, after),
                    p_value=randomization_test(before, after),
                    questions=len(common),
                )
        return differences


class AnswersFolder:
    """The answers to the questions of one data set, which can be continued."""

    def __init__(self, folder: Path, data: DataSet, *, setting: str, embedder: str, chat: str) -> None:
        """Create the folder, or continue an earlier process's work.

        Raises:
            BadInput: when the folder holds answers to other questions, of another model or under another setting.
            OSError: when it cannot be written.
        """
        header = AnswersHeader.of(data, setting=setting, embedder=embedder, chat=chat)

        def wrong(earlier: AnswersHeader) -> str:
            author = f"{earlier.chat or 'quotation'} with {embedder_name(earlier.embedder)}"
            is_same = replace(earlier, digest=header.digest) == header
            return "" if is_same else f"answers to {earlier.data} by {author}, under {earlier.setting}"

        self._folder, self._file = folder, _answers_file(folder)
        self._file.begin(header, wrong)

    @property
    def answers(self) -> Answers:
        """The answers on disk. Raises `BadInput` for a damaged file."""
        return read_answers(self._folder)

    def close(self) -> None:
        """Let other processes add answers."""
        self._file.close()

    def add(self, answer: AnsweredQuestion) -> None:
        """Write an answer, replacing an earlier answer to its question. The answer is on disk on return."""
        self._file.add(answer)

    async def judge(self, judge: Judge, labelled: Sequence[LabelledClaim] = ()) -> None:
        """Judge the unjudged answers, after the labelled claims.

        Each verdict is on disk before the next request. Verdicts of another judge, or with another agreement,
        are replaced.

        Raises:
            ChatFailed: when the model does not answer about the labelled claims.
            BadInput: when a file is damaged.
            OSError: when it cannot be written.
        """
        agreed = await agreement(judge, labelled) if labelled else None
        answers, file = self.answers, _judged_file(self._folder)
        header = JudgeHeader(
            data=answers.header.data,
            embedder=answers.header.embedder,
            questions=answers.header.questions,
            judge=judge.identity,
            repeats=judge.repeats,
            agreement=agreed,
        )
        if answers.judged and answers.judged.header != header:
            file.source.path.unlink()
        with closing(file):
            file.begin(header)
            judged = self.answers.judged
            done = {answer.id for answer in judged.answers if not answer.failed} if judged else set()
            remaining = [answer for answer in answers.answered if answer.id not in done]
            async with aclosing(judge_answers(judge, remaining)) as results:
                async for result in results:
                    file.add(result)


def has_answers(folder: Path) -> bool:
    """Return whether a folder holds answers, even if none is written yet."""
    return _answers_file(folder).is_begun


def read_answers(folder: Path) -> Answers:
    """Read the answers and verdicts of a folder that `openquery eval answers` or the page wrote.

    Raises:
        BadInput: when a file is damaged.
        FileNotFoundError: when there are none.
    """
    header, answers = _answers_file(folder).read()
    latest = {answer.id: answer for answer in answers}
    judged, file = None, _judged_file(folder)
    if file.is_begun:
        with suppress(FileNotFoundError):  # another judge replaced the file meanwhile
            judge, verdicts = file.read()
            last = {verdict.id: verdict for verdict in verdicts}
            judged = JudgedAnswers(header=judge, answers=tuple(last.values()))
    return Answers(
        header=header,
        answers=tuple(latest[name] for name in header.questions if name in latest),
        judged=judged,
    )


def _answers_file(folder: Path) -> RecordFile[AnswersHeader, AnsweredQuestion]:
    return RecordFile(Source(folder / FILE), AnswersHeader, AnsweredQuestion, _HINT)


def _judged_file(folder: Path) -> RecordFile[JudgeHeader, JudgedAnswer]:
    return RecordFile(Source(folder / JUDGED), JudgeHeader, JudgedAnswer, _HINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPlan:
    """The data set, setting and size of an evaluation of answers."""

    data: str
    """The name of the data set."""
    changes: tuple[str, ...]
    """The changes of its setting from the defaults."""
    started: str
    questions: int
    repeats: int = 0
    """The number of verdicts for each sentence, or 0 without a judge."""

    @classmethod
    def of(cls, answers: Answers, started: datetime) -> Self:
        """Return the plan described by the answers' header."""
        header = answers.header
        return cls(
            data=header.data,
            changes=() if header.setting == DEFAULTS else tuple(header.setting.split(" ")),
            started=started.isoformat(),
            questions=len(header.questions),
            repeats=answers.judged.header.repeats if answers.judged else 0,
        )

    @property
    def knobs(self) -> Knobs:
        """The knobs of its setting, without unknown knobs."""
        return apply_changes(Knobs(), self.changes, CHANGED).knobs


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEvaluation(StoredTask):
    """An evaluation of answers with its progress."""

    plan: AnswerPlan
    answers: Answers | None
    """The answers so far, or None before the first question."""
    seconds_left: float | None = None
    """The estimated seconds for the remaining questions, or None if unknown."""

    @property
    def done(self) -> int:
        """The number of questions that were answered or failed."""
        return len(self.answers.answers) if self.answers else 0

    @property
    def judged(self) -> int:
        """The number of answers that were judged, including failures of the judge."""
        return len(self.answers.judged.answers) if self.answers and self.answers.judged else 0

    @property
    def to_judge(self) -> int:
        """The number of answers for the judge."""
        return sum(not answer.refused for answer in self.answers.answered) if self.answers else 0

    @property
    def failed(self) -> tuple[str, ...]:
        """The reasons for questions without answer and unjudged answers."""
        if self.answers is None:
            return ()
        judge = self.answers.judged.failed if self.answers.judged else ()
        return (*(answer.failed for answer in self.answers.answers if answer.failed), *judge)
