"""The context of a run, for methods and follow-ups. A stage takes only what it uses: its arguments are its cache key."""

from collections.abc import Callable
from dataclasses import dataclass

from core.config.knobs import Knobs
from core.ports import Ports
from core.run.events import Event
from core.run.recorder import Recorder
from core.run.state import Run
from core.stages.time_budget import UNLIMITED, TimeBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The question, knobs, ports, recorder and time budget of one run, or of a section of its report."""

    question: str
    knobs: Knobs
    ports: Ports
    recorder: Recorder
    budget: TimeBudget = UNLIMITED

    @property
    def run(self) -> Run:
        """The current state of the run."""
        return self.recorder.run

    @property
    def emit(self) -> Callable[[Event], None]:
        """Records an event of the run."""
        return self.recorder.emit
