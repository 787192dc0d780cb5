"""The summary of a run, as the history lists it."""

from dataclasses import dataclass

from core.config.knobs import Knobs
from core.model import Usage
from core.run.events import ModelUsed
from core.run.state import RunStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A line of the history."""

    id: str
    question: str
    started: str
    status: RunStatus
    seconds: float
    elsewhere: bool = False
    """Whether another process that uses the same data folder works on the run."""
    knobs: Knobs | None = None
    """None if this version does not know one of the knobs."""
    pages: int = 0
    passages: int = 0
    sources: int = 0
    conversation: str = ""
    """The id of the conversation's first run, or the run's own id."""
    follows: str = ""
    """The id of the previous run in the conversation, or ""."""
    turns: int = 1
    """The number of runs in the conversation."""
    usage: Usage | None = None
    """Tokens and stated cost on model servers, or None if no server was asked."""
    model_usage: tuple[ModelUsed, ...] = ()
    """The usage by call, see `Run.model_usage`. Empty for a run that an earlier version stored."""
    tags: tuple[str, ...] = ()
    title: str = ""
    """The title of the conversation: as somebody named it, else its first question."""
