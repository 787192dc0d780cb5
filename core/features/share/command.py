"""`openquery export`, `open` and `replay`: runs as files, and a run shown again."""

import argparse
import asyncio
import sys
from contextlib import closing

from core.cli.ask import AnswerPrinter
from core.cli.printing import print_note, print_text
from core.cli.progress_lines import PhaseLines
from core.cli.run_files import read_bounded, recorded_at
from core.cli.shared_arguments import settings_of
from core.errors import BadInput, StoreFailed
from core.features.share.formats import ending_of, export
from core.features.share.html_export import check_file, is_html_export
from core.features.share.replay import TICK, Playhead, phase_starts, replay
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
    with closing(RunRegistry(settings)) as runs:
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
    with closing(RunRegistry(settings)) as runs:
        recorded = recorded_run(document)
        run_id = runs.import_run(recorded)
        for notice in left_out_notices(recorded.run):
            print_note(str(notice))
        if problem := runs.unsaved(run_id):
            raise StoreFailed(problem)
    print_text(f"{PAGES}/?run={run_id}")
    print_note("The run is in the history. `openquery` serves its page.")
    return 0


async def replay_in_terminal(options: argparse.Namespace) -> int:
    """Show a run with its original timing, and return the exit code of the run.

    The replay waits for the Enter key at the start of each phase in `pause_at`.

    Raises:
        BadInput: when the run is unknown or has no events, or the speed is not above 0.
        BrokenPipeError: when the reader of stdout or stderr has closed it.
    """
    if not 0 < options.speed < float("inf"):
        raise BadInput("A replay needs a speed above 0.", hint="1 is as it was, 2 twice as fast.")
    with closing(RunRegistry(settings_of(options))) as runs:
        recorded, prices = recorded_at(options.run, runs), runs.engine.prices.read()
    playhead = Playhead(speed=options.speed, halts=phase_starts(recorded, options.pause_at))

    async def sleep(seconds: float) -> None:
        if playhead.halted:
            print_note("Paused. Press Enter to go on.")
            await _enter()
            playhead.play()
        else:
            await asyncio.sleep(min(seconds, TICK))

    terminal = AnswerPrinter(
        PhaseLines(recorded.run.knobs.embed.batch),
        prices,
        verbose=options.verbose,
        stream=True,
        closed=lambda: None,
    )
    async for record, run in replay(recorded, playhead, sleep):
        terminal.show(record, run)
        if terminal.pipe_error:
            raise terminal.pipe_error
    terminal.finish(recorded.run)
    return recorded.run.error.exit_code if recorded.run.error else 0


async def _enter() -> None:
    pressed = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin, pressed.set)
    try:
        await pressed.wait()
        sys.stdin.readline()
    finally:
        loop.remove_reader(sys.stdin)
