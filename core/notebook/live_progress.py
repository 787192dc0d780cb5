"""The phases of a run while a cell waits for it: a live display in a notebook, lines in a terminal."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from core.run.events import Record
from core.run.state import Run

REDRAW_SECONDS = 0.1
"""Time between two drawings. Events come faster than a notebook draws."""


class LiveProgress:
    """Follows one run. `observe` is called on another thread."""

    def __init__(self) -> None:
        self._run, self._drawn = Run(), Run()
        self._ended = False
        self._kernel = _has_kernel()
        self._lines = None if self._kernel else _terminal()
        self._handle: Any = None

    def observe(self, record: Record | None, run: Run) -> None:
        """Take an event of the run and the run after it; None: work on it has ended."""
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
        """Draw the run as it is now, where that can be replaced later and differs from what is shown."""
        if not self._kernel or self._run is self._drawn:
            return
        from IPython.display import display

        from core.notebook.run_display import progress_display

        self._drawn = self._run
        if self._handle is None:
            self._handle = display(progress_display(self._drawn), display_id=True)
        else:
            self._handle.update(progress_display(self._drawn))


def _has_kernel() -> bool:
    """Whether this is a cell of a notebook, where a display can be replaced. IPython in a terminal only prints."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def _terminal() -> Any:
    from core.cli.ask import Terminal
    from core.cli.progress_lines import PhaseLines
    from core.config.knobs import Knobs
    from core.config.prices import SHIPPED

    lines = PhaseLines(Knobs().embed.batch)
    return Terminal(lines, SHIPPED, verbose=False, stream=False, closed=lambda: None)
