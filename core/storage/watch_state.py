"""What `openquery watch` knows of its questions between two asks: a small JSON file, replaced as a whole."""

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
    """A question with the settings that it is asked under."""

    question: str
    knobs: Knobs


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionState:
    """Where a watched question stands."""

    watched: WatchedQuestion
    run: str
    """The id of the run that later ones are compared with."""
    earlier: str = ""
    """The id of the run before the latest change that was told; empty before the first."""
    asked: AwareDatetime | None = None
    """When it was last asked without a failure."""
    noise: tuple[tuple[float, ...], ...] = ()
    """The change scores of repeats against `run`, oldest first."""


_STATES = TypeAdapter(tuple[QuestionState, ...])


def read_states(path: Path) -> dict[WatchedQuestion, QuestionState]:
    """The states in a file; none when there is no file.

    Raises:
        BadInput: when the file is no such state.
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
        OSError: when it cannot be written; the old file is then unchanged.
    """
    atomic_write(path, _STATES.dump_json(tuple(states.values()), indent=1))
