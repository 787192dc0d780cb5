"""The state of `openquery watch` between runs: a small JSON file."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from core.config.knobs import Knobs
from core.errors import BadInput
from core.storage.atomic_write import atomic_write

LIMIT = 10_000_000
"""The largest state file that is read, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedQuestion:
    """A question with its settings."""

    question: str
    knobs: Knobs


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionState:
    """The state of a watched question."""

    watched: WatchedQuestion
    run: str
    """The id of the run that later runs are compared with."""
    earlier: str = ""
    """The id of the run before the latest reported change, or "" before the first."""
    asked: AwareDatetime | None = None
    """The time of the latest request without a failure."""
    noise: tuple[tuple[float, ...], ...] = ()
    """The change scores of repeats against `run`, oldest first."""


_STATES = TypeAdapter(tuple[QuestionState, ...])


def read_states(path: Path) -> dict[WatchedQuestion, QuestionState]:
    """Return the states in a file. Empty if the file is missing.

    Raises:
        BadInput: when the file has another format.
        OSError: when it cannot be read.
    """
    if not path.exists():
        return {}
    if not path.is_file():
        raise BadInput(f"{path} is not a file.", hint="Move it away, or watch another file of questions.")
    try:
        with path.open("rb") as file:
            states = _STATES.validate_json(file.read(LIMIT))
    except ValidationError as error:
        raise BadInput(
            f"{path} is no state of openquery watch, or that of another version.",
            hint="Move it away: every question is then asked as if for the first time.",
        ) from error
    return {state.watched: state for state in states}


def write_states(path: Path, states: dict[WatchedQuestion, QuestionState]) -> None:
    """Replace the file.

    Raises:
        OSError: when it cannot be written. The old file is then unchanged.
    """
    atomic_write(path, _STATES.dump_json(tuple(states.values()), indent=1))
