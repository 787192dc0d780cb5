"""Where an experiment stands: what was asked, and how far it is within its settings."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.evaluation.sweep import DEFAULTS, column
from core.model import Retry


class SweepPhase(StrEnum):
    """What a sweep does now."""

    READ = "reading documents"
    EMBED = "cutting and embedding"
    RANK = "ranking"


@dataclass(slots=True, kw_only=True)
class SweepProgress:
    """The figures of a sweep under way. One task writes them; what others read may be a moment old."""

    phase: SweepPhase = SweepPhase.READ
    questions: int = 0
    """Ranked so far, each setting counted, with those of an earlier start."""
    earlier: int = 0
    """Of these, those of an earlier start."""
    total: int = 0
    """To rank in all."""
    texts: int = 0
    """Embedded, or found in the cache."""
    retries: int = 0
    """Calls that a model server refused for now and that were made again."""
    waiting: str = ""
    """Why the next call waits, in words; empty while none does."""
    began: float = 0.0
    """When the first question was about to be ranked, by the monotonic clock; 0 before that."""
    texts_left: float = 0.0
    """Texts still to embed when `plan_texts` was called last, by an estimate from the documents' length."""
    texts_then: int = 0
    """`texts` when `plan_texts` was called last."""
    texts_before: int = 0
    """`texts` when the first phase of embedding began: those of the questions."""
    embedding: float = 0.0
    """Seconds of cutting and embedding in phases that have ended."""
    entered: float = 0.0
    """When the phase began, by the monotonic clock."""

    def begin(self, *, total: int, done: int) -> None:
        """Begin with so many questions to rank, of which some were ranked earlier."""
        self.total, self.questions, self.earlier, self.began = total, done, done, time.monotonic()

    def enter(self, phase: SweepPhase) -> None:
        """Begin a phase."""
        now = time.monotonic()
        if self.phase is SweepPhase.EMBED:
            self.embedding += now - self.entered
        elif phase is SweepPhase.EMBED and not self.entered:
            self.texts_before = self.texts
        self.phase, self.entered = phase, now

    def plan_texts(self, left: float) -> None:
        """State how many texts are still to be embedded."""
        self.texts_left, self.texts_then = left, self.texts

    @property
    def rate(self) -> float:
        """Questions ranked a second since this start; 0 before the first."""
        seconds = time.monotonic() - self.began
        return (self.questions - self.earlier) / seconds if self.began and seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimate the seconds for the texts still to embed and the questions to rank, or None before the first of both.

        Embedding takes most of the time, and its share differs between settings: texts are the measure, not settings.
        """
        now = time.monotonic()
        embedding = self.embedding + (now - self.entered if self.phase is SweepPhase.EMBED else 0.0)
        ranked, embedded = self.questions - self.earlier, self.texts - self.texts_before
        texts, questions = (
            max(self.texts_left - (self.texts - self.texts_then), 0.0),
            self.total - self.questions,
        )
        if (texts and not embedded) or (questions and not ranked):
            return None
        ranking = max(now - self.began - embedding, 0.0)
        return (texts * embedding / embedded if texts else 0.0) + (
            questions * ranking / ranked if questions else 0.0
        )

    def note_retry(self, retry: Retry) -> None:
        """Count a call that is made again."""
        self.retries += 1
        self.waiting = f"{retry.server}: {retry.reason}, asked again after {retry.seconds:.0f} s"


class ExperimentStatus(StrEnum):
    """Where an experiment stands."""

    QUEUED = "queued"
    RUNNING = "running"
    STOPPED = "stopped"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptWork:
    """Work in the background that has a folder of its own, and where it stands."""

    id: str
    started: str
    status: ExperimentStatus
    error: str = ""
    """Why it failed, in words for a person."""

    @property
    def live(self) -> bool:
        """Whether it waits or runs."""
        return self.status in (ExperimentStatus.QUEUED, ExperimentStatus.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment(KeptWork):
    """What was asked, and how far it is. Its results are read with `Experiments.results`."""

    data: str
    """The name of the data set."""
    swept: Mapping[str, Any]
    """The values to try, as `core.evaluation.sweep.settings` takes them."""
    settings: int
    done: int
    user: str = ""
    """Whose it is; empty: everybody's, as of a server that is not shared."""
    given_name: str = ""
    """What a person called it; empty: nobody did."""
    note: str = ""
    progress: SweepProgress | None = None
    """How far it is within its settings; None unless it is under way in this process."""

    @property
    def name(self) -> str:
        """What it is called: what a person called it, else the knobs that vary."""
        varied = [
            column(f"{group}.{knob}")
            for group, knobs in self.swept.items()
            for knob, values in knobs.items()
            if isinstance(values, list) and len(values) > 1
        ]
        return self.given_name or " × ".join(varied) or DEFAULTS
