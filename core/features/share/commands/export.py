"""`openquery export` and `openquery open`: runs as files."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from core.cli.printing import print_note, print_text
from core.cli.run_files import read_bounded, recorded_at
from core.cli.shared_arguments import settings_of
from core.config.settings import Settings
from core.errors import StoreFailed
from core.features.share.formats import ending_of, export
from core.features.share.html_export import check_file, is_html_export
from core.run.notices import left_out_notices
from core.runtime.registry import RunRegistry
from core.storage.atomic_write import atomic_write
from core.storage.bundle import recorded_run
from core.text.sanitize import pluralize

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
    if is_html_export(document):
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


@contextmanager
def registry(settings: Settings) -> Iterator[RunRegistry]:
    """Open the runs of the data folder, and close them at the end."""
    runs = RunRegistry(settings)
    try:
        yield runs
    finally:
        runs.close()
