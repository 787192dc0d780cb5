"""The ranking of a finished run under the controls, as all parts of the page show it."""

from core.run.state import Run
from pages.parts import runtime
from pages.parts.sidebar import controls


class Tuning:
    """Read once for a drawing, so that its parts agree."""

    def __init__(self, run: Run) -> None:
        self.read(run)

    def read(self, run: Run) -> None:
        """Rank the run under the controls as they are now."""
        self.knobs = controls.live_knobs(run)
        self.job = runtime.tuned(run, self.knobs)
        self.pending = self.job is not None and self.job.pending
        """Whether the ranking was under way; `_drawn` is the one before it then."""
        self._drawn = self.job.run.last_complete if self.job is not None and not run.live else run

    def shown(self, run: Run) -> Run:
        """The run with the ranking that is shown; `run` itself while it is under way."""
        return self._drawn if self.job is not None and not run.live else run

    def outdated(self, run: Run) -> bool:
        """Whether the ranking that was under way is there, or another one is wanted."""
        job = self.job
        return (
            self.pending
            and job is not None
            and (not job.pending or job.run.last_complete.ranking is not self._drawn.ranking)
        ) or controls.live_knobs(run) != self.knobs
