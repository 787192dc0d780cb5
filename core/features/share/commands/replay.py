"""`openquery replay`: repeat the display of a run, without a network or a model."""

import argparse
import asyncio
import sys

from core.cli.ask import AnswerPrinter
from core.cli.printing import print_note
from core.cli.progress_lines import PhaseLines
from core.cli.run_files import recorded_at
from core.cli.shared_arguments import settings_of
from core.errors import BadInput
from core.features.share.commands.export import registry
from core.features.share.replay import TICK, Playhead, phase_starts, replay


async def replay_in_terminal(options: argparse.Namespace) -> int:
    """Show a run with its original timing, and return the exit code of the run.

    The replay waits for the Enter key at the start of each phase in `pause_at`.

    Raises:
        BadInput: when the run is unknown or has no events, or the speed is not above 0.
        BrokenPipeError: when the reader of stdout or stderr has closed it.
    """
    if not 0 < options.speed < float("inf"):
        raise BadInput("A replay needs a speed above 0.", hint="1 is as it was, 2 twice as fast.")
    with registry(settings_of(options)) as runs:
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
    """Wait for a line or the end of stdin."""
    pressed = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin, pressed.set)
    try:
        await pressed.wait()
        sys.stdin.readline()
    finally:
        loop.remove_reader(sys.stdin)
