"""`openquery export`, `openquery open` and `openquery key`: runs as files, and signing keys."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.cli.printing import print_note, print_text
from core.cli.shared_arguments import settings_of
from core.config.settings import Settings
from core.errors import BadInput, StoreFailed
from core.export.bundle import recorded_run
from core.export.formats import ending_of, export
from core.export.one_file import check_file, is_one_file
from core.run.importer import LIMIT
from core.run.notices import left_out_notices
from core.run.recorded_run import RecordedRun
from core.runtime.registry import RunRegistry
from core.storage.atomic_write import atomic_write
from core.text.sanitize import one_line, pluralize

PAGES = "http://127.0.0.1:8501"
"""The default address of the pages that `openquery` serves."""


def export_in_terminal(options: argparse.Namespace) -> int:
    """Write a run as a file, in the format of the suffix, and return the exit code.

    An existing file is replaced.

    Raises:
        BadInput: for an unknown run or format, or a run without that kind of data.
        StoreFailed: when the history cannot be read.
        OSError: when a file cannot be read or written.
    """
    out, settings = options.out, settings_of(options)
    ending = ending_of(out.name)
    with registry(settings) as runs:
        body = export(recorded_at(options.run, runs), ending, runs.engine.prices.read())
    atomic_write(out, body)
    print_note(f"{out}: {pluralize(len(body), 'byte')}")
    return 0


def open_in_terminal(options: argparse.Namespace) -> int:
    """Store the run of a file, print the address of its page, and return the exit code.

    A run in one HTML file is only checked, since a browser opens it.

    Raises:
        BadInput: when the file is no exported run, or was changed.
        StoreFailed: when the run cannot be stored.
        OSError: when the file cannot be read.
    """
    settings = settings_of(options)
    document = read_bounded(options.file)
    if is_one_file(document):
        check_file(document)
        print_note("Every byte of the file matches its manifest. A browser opens it.")
        return 0
    with registry(settings) as runs:
        recorded = recorded_run(document)
        run_id = runs.import_run(recorded)
        for notice in left_out_notices(recorded.run):
            print_note(str(notice))
        if problem := runs.unsaved(run_id):
            raise StoreFailed(problem)
    print_text(f"{PAGES}/?run={run_id}")
    print_note("The run is in the history. `openquery` serves its page.")
    return 0


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


@contextmanager
def registry(settings: Settings) -> Iterator[RunRegistry]:
    """Open the runs of the data folder, and close them at the end."""
    runs = RunRegistry(settings)
    try:
        yield runs
    finally:
        runs.close()
