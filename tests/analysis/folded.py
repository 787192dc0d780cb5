"""Runs folded from the sample events."""

from core.model import Phase
from core.run import events as e
from core.run.state import Run
from tests import samples


def run_of(*events: e.Event) -> Run:
    run = Run()
    for record in samples.records(*events):
        run = run.apply(record)
    return run


def finished() -> Run:
    """The sample run with the phases that its events leave out."""
    phases = {e.SearchStarted: Phase.SEARCH, e.Ranked: Phase.RANK}
    events: list[e.Event] = []
    for event in samples.until(e.RunDone):
        if phase := phases.pop(type(event), None):
            events.append(e.PhaseStarted(phase))
        events.append(event)
    return run_of(*events)
