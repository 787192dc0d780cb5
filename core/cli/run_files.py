"""Runs by id, or by the file of an exported run."""

from pathlib import Path

from core.errors import BadInput
from core.run.importer import LIMIT
from core.run.recorded_run import RecordedRun
from core.runtime.registry import RunRegistry
from core.storage.bundle import recorded_run
from core.text.sanitize import one_line


def read_bounded(file: Path) -> bytes:
    """Read a file, up to just above the size limit.

    Raises:
        BadInput: for a missing file.
        OSError: when it cannot be read.
    """
    if not file.is_file():
        raise BadInput(f"There is no file {one_line(str(file), 200)}.", hint="Check its path.")
    with file.open("rb") as opened:
        return opened.read(LIMIT + 1)


def recorded_at(reference: str, runs: RunRegistry) -> RecordedRun:
    """Return a run with its events, by an id in the history or an exported file.

    Raises:
        BadInput: for an unknown run.
        StoreFailed: when the history cannot be read.
        OSError: when the file cannot be read.
    """
    return runs.recorded(reference) or run_of_file(reference)


def run_of_file(reference: str) -> RecordedRun:
    """Read the run of an exported file.

    Raises:
        BadInput: when the file is missing or no exported run.
        OSError: when the file cannot be read.
    """
    if not Path(reference).is_file():
        raise BadInput(
            f"There is no run {one_line(reference, 60)} in the history, and no such file.",
            hint="Copy the id from the address of its page, or name the file of an exported run.",
        )
    return recorded_run(read_bounded(Path(reference)))
