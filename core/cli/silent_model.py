"""Notice of a silent chat model in the terminal, with Enter to quote the sources."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from core.analysis.run_activity import SilentModel, silent_model
from core.run.events import Record
from core.run.state import Run

LOOK_EVERY = 0.5
"""Seconds between two checks of the clock."""


class SilenceWatch:
    """Reports a silent chat model to `show`, and its end as None. Enter sets `quote`."""

    def __init__(self, show: Callable[[SilentModel | None, bool], object]) -> None:
        """`show` also receives whether Enter quotes the sources."""
        self.quote = asyncio.Event()
        self._show = show
        self._run = Run()
        self._told = time.monotonic()

    def listen(self, _record: Record, run: Run) -> None:
        """Record an event of the run. This is a listener of the run."""
        self._run, self._told = run, time.monotonic()

    async def watch(self) -> None:
        """Check the clock until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if self._silent() is None:
                continue
            with _reading_enter(self._enter) as reads:
                while silent := self._silent():
                    self._show(silent, reads and silent.can_quote)
                    await asyncio.sleep(LOOK_EVERY)
            self._show(None, False)

    def _silent(self) -> SilentModel | None:
        return silent_model(self._run, self._run.seconds + time.monotonic() - self._told)

    def _enter(self) -> None:
        sys.stdin.readline()
        if (silent := self._silent()) and silent.can_quote:
            self.quote.set()


@contextmanager
def _reading_enter(entered: Callable[[], object]) -> Iterator[bool]:
    """Call `entered` for each typed line.

    Yields False without a terminal, or if the event loop cannot watch it.
    """
    loop, watches = asyncio.get_running_loop(), False
    if sys.stdin is not None and sys.stdin.isatty():
        with suppress(OSError, NotImplementedError):
            descriptor = sys.stdin.fileno()
            _forget_typed(descriptor)
            loop.add_reader(descriptor, entered)
            watches = True
    try:
        yield watches
    finally:
        if watches:
            loop.remove_reader(sys.stdin.fileno())


def _forget_typed(descriptor: int) -> None:
    """Drop input typed before the choice was offered."""
    with suppress(ImportError):
        import termios

        termios.tcflush(descriptor, termios.TCIFLUSH)
