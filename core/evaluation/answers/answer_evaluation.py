"""Where an evaluation of answers stands."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from core.config.knob_changes import apply_changes
from core.config.knobs import Knobs
from core.evaluation.answers.answering import CHANGED
from core.evaluation.answers.answers_folder import Answers
from core.evaluation.experiment_state import ExperimentStatus
from core.evaluation.sweep import DEFAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPlan:
    """What an evaluation of answers asks."""

    data: str
    """The name of the data set."""
    changes: tuple[str, ...]
    """What its setting changes of the defaults."""
    started: str
    questions: int
    repeats: int = 0
    """How often a sentence is judged; 0: there is no judge."""

    @classmethod
    def of(cls, answers: Answers, started: datetime) -> Self:
        """What answers say of themselves."""
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
        """Its setting; what this version has no longer is left out."""
        return apply_changes(Knobs(), self.changes, CHANGED).knobs


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEvaluation:
    """An evaluation of answers, and how far it is."""

    id: str
    plan: AnswerPlan
    answers: Answers | None
    """What it has so far; None before its first question."""
    status: ExperimentStatus
    error: str = ""
    """Why it failed, in words for a person."""
    seconds_left: float | None = None
    """About how long the questions will take; None where that is not known."""

    @property
    def live(self) -> bool:
        """Whether it waits or runs."""
        return self.status in (ExperimentStatus.QUEUED, ExperimentStatus.RUNNING)

    @property
    def done(self) -> int:
        """The questions that are answered, or have failed."""
        return len(self.answers.answers) if self.answers else 0

    @property
    def judged(self) -> int:
        """The answers that are judged, or where the judge has failed."""
        return len(self.answers.judged.answers) if self.answers and self.answers.judged else 0

    @property
    def to_judge(self) -> int:
        """The answers that the judge is asked about."""
        return sum(not answer.refused for answer in self.answers.answered) if self.answers else 0

    @property
    def failed(self) -> tuple[str, ...]:
        """Why questions were not answered, and answers not judged."""
        if self.answers is None:
            return ()
        judge = self.answers.judged.failed if self.answers.judged else ()
        return (*(answer.failed for answer in self.answers.answers if answer.failed), *judge)
