"""Where an experiment stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.evaluation.setting_table import column
from core.evaluation.sweep import DEFAULTS
from core.evaluation.sweep_progress import SweepProgress


class ExperimentStatus(StrEnum):
    """Where an experiment stands."""

    QUEUED = "queued"
    RUNNING = "running"
    STOPPED = "stopped"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What was asked, and how far it is. Its results are read with `Experiments.results`."""

    id: str
    data: str
    """The name of the data set."""
    swept: Mapping[str, Any]
    """The values to try, as `core.evaluation.sweep.settings` takes them."""
    started: str
    settings: int
    done: int
    status: ExperimentStatus
    error: str = ""
    """Why it failed, in words for a person."""
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

    @property
    def live(self) -> bool:
        """Whether it waits or runs."""
        return self.status in (ExperimentStatus.QUEUED, ExperimentStatus.RUNNING)
