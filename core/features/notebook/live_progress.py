"""Live phases of a run while a cell waits, in a notebook or a terminal."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from core.run.events import Record
from core.run.state import Run

REDRAW_SECONDS = 0.1
"""Seconds between two drawings. Events arrive faster than a notebook draws."""


class LiveProgress:
    """Follows one run. `observe` is called on another thread."""

    def __init__(self) -> None:
        self._run, self._drawn = Run(), Run()
        self._ended = False
        self._kernel = _has_kernel()
        self._lines = None if self._kernel else _terminal()
        self._handle: Any = None

    def observe(self, record: Record | None, run: Run) -> None:
        """Receive an event of the run. None means the end of the work."""
        self._run = run
        if self._lines and record:
            self._lines.show(record, run)
        elif self._lines:
            self._lines.print_troubles(run)
        self._ended = self._ended or record is None

    async def show(self) -> None:
        """Draw until the run has ended."""
        while not self._ended:
            await asyncio.sleep(REDRAW_SECONDS)
            self.draw()

    def draw(self) -> None:
        """Draw the current run, if it has changed."""
        if not self._kernel or self._run is self._drawn:
            return
        from IPython.display import display

        from core.features.notebook.run_display import progress_display

        self._drawn = self._run
        if self._handle is None:
            self._handle = display(progress_display(self._drawn), display_id=True)
        else:
            self._handle.update(progress_display(self._drawn))


def _has_kernel() -> bool:
    """Return whether this is a notebook's cell, whose displays can be replaced.

    IPython in a terminal only prints.
    """
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def _terminal() -> Any:
    from core.cli.ask import AnswerPrinter
    from core.cli.progress_lines import PhaseLines
    from core.config.knobs import Knobs
    from core.config.prices import SHIPPED

    lines = PhaseLines(Knobs().embed.batch)
    return AnswerPrinter(lines, SHIPPED, verbose=False, stream=False, closed=lambda: None)
