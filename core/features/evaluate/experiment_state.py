"""The state of an experiment: its plan, and its progress within the settings."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.features.evaluate.sweep import DEFAULTS, column
from core.model import Retry
from core.runtime.event_loop import TaskStatus


class SweepPhase(StrEnum):
    """The current activity of a sweep."""

    READ = "reading documents"
    EMBED = "cutting and embedding"
    RANK = "ranking"


@dataclass(slots=True, kw_only=True)
class SweepProgress:
    """The progress figures of a running sweep.

    One task writes the figures, so other readers may see slightly old values.
    """

    phase: SweepPhase = SweepPhase.READ
    questions: int = 0
    """Rankings so far over all settings, including an earlier start."""
    earlier: int = 0
    """Rankings of an earlier start."""
    total: int = 0
    """Rankings planned in all."""
    texts: int = 0
    """Texts that were embedded or found in the cache."""
    retries: int = 0
    """Calls repeated after a model server refused them for now."""
    waiting: str = ""
    """The reason why the next call waits, or ""."""
    began: float = 0.0
    """Monotonic time of the first ranking, or 0 before."""
    texts_left: float = 0.0
    """Estimated texts left to embed at the latest `plan_texts`, by the documents' length."""
    texts_then: int = 0
    """`texts` at the latest `plan_texts`."""
    texts_before: int = 0
    """`texts` at the start of the first embedding phase: the texts of the questions."""
    embedding: float = 0.0
    """Seconds of chunking and embedding in finished phases."""
    entered: float = 0.0
    """Monotonic time when the phase began."""

    def begin(self, *, total: int, done: int) -> None:
        """Start with `total` rankings, `done` of them earlier."""
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
        """Set the number of texts left to embed."""
        self.texts_left, self.texts_then = left, self.texts

    @property
    def rate(self) -> float:
        """Questions ranked per second since this start, or 0 before the first."""
        seconds = time.monotonic() - self.began
        return (self.questions - self.earlier) / seconds if self.began and seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimate the seconds left for embedding and ranking, or None before the first of both.

        Embedding takes most of the time, and its share differs between settings: texts are the measure, not settings.
        """
        now = time.monotonic()
        embedding = self.embedding + (now - self.entered if self.phase is SweepPhase.EMBED else 0.0)
        ranked, embedded = self.questions - self.earlier, self.texts - self.texts_before
        texts = max(self.texts_left - (self.texts - self.texts_then), 0.0)
        questions = self.total - self.questions
        if (texts and not embedded) or (questions and not ranked):
            return None
        ranking = max(now - self.began - embedding, 0.0)
        return (texts * embedding / embedded if texts else 0.0) + (
            questions * ranking / ranked if questions else 0.0
        )

    def note_retry(self, retry: Retry) -> None:
        """Count a repeated call."""
        self.retries += 1
        self.waiting = f"{retry.server}: {retry.reason}, asked again after {retry.seconds:.0f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTask:
    """Background work with its own folder, and its state."""

    id: str
    started: str
    status: TaskStatus
    error: str = ""
    """The reason of a failure, for a person."""

    @property
    def live(self) -> bool:
        """Whether the work is queued or running."""
        return self.status in (TaskStatus.QUEUED, TaskStatus.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment(StoredTask):
    """The plan and progress of an experiment. `Experiments.results` reads the results."""

    data: str
    """The name of the data set."""
    swept: Mapping[str, Any]
    """The values to try, in the form of `core.features.evaluate.sweep.settings`."""
    settings: int
    done: int
    user: str = ""
    """The owner, or "" on a server that is not shared."""
    given_name: str = ""
    """The name given by a person, or ""."""
    note: str = ""
    progress: SweepProgress | None = None
    """Progress within the settings, or None unless this process runs the experiment."""

    @property
    def name(self) -> str:
        """The given name, or else the knobs that vary."""
        varied = [
            column(f"{group}.{knob}")
            for group, knobs in self.swept.items()
            for knob, values in knobs.items()
            if isinstance(values, list) and len(values) > 1
        ]
        return self.given_name or " × ".join(varied) or DEFAULTS
