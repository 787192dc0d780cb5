"""Stepper: the seven phases of a run with counts and durations."""

from functools import lru_cache
from math import ceil

from htpy import div, small, span, time

from core.analysis.progress import PhaseProgress, PhaseState, phase_progress
from core.model import Phase
from core.run.state import Run
from pages.parts import markup

ICONS = {
    Phase.PLAN: "edit_note",
    Phase.SEARCH: "travel_explore",
    Phase.READ: "article",
    Phase.CHUNK: "segment",
    Phase.EMBED: "scatter_plot",
    Phase.RANK: "leaderboard",
    Phase.ANSWER: "auto_awesome",
}
STATE_LABELS = {
    PhaseState.WAITING: "not started",
    PhaseState.RUNNING: "running",
    PhaseState.DONE: "done",
    PhaseState.PARTIAL: "done, with a loss",
    PhaseState.FAILED: "failed",
    PhaseState.CUT: "interrupted",
}

SYMBOLS = {PhaseState.CUT: "stop_circle", PhaseState.PARTIAL: "warning", PhaseState.FAILED: "error"}
"""Symbols of states, which replace the phase's symbol."""


def stepper(run: Run, now: float) -> None:
    """Draw the phases of the run at clock time `now`, in seconds."""
    markup.show(
        div(".oq-steps", role="list", aria_label="Phases of the run")[map(_cell, phase_progress(run, now))]
    )


@lru_cache(maxsize=1000)
def _cell(step: PhaseProgress) -> str:
    seconds = "" if step.seconds is None else markup.duration(step.seconds)
    if step.waiting:
        seconds = f"retry {ceil(step.wait_seconds)} s"
    waited = f"waited {markup.duration(step.waited)}" if step.waited >= 0.05 and not step.waiting else ""
    hint = step.waiting or step.detail
    count = step.count if step.count and step.state is not PhaseState.WAITING else "–"
    beside = " · ".join(filter(None, (step.unit if count != "–" else "", waited)))
    cell = div(
        class_=["oq-step", str(step.state), "retry" if step.waiting else None],
        data_phase=str(step.phase),
        role="listitem",
        title=": ".join(filter(None, (f"{step.title}, {count} {beside}".rstrip(), hint))),
        aria_label=f"{step.title}: {', '.join(filter(None, (STATE_LABELS[step.state], waited, hint)))}",
    )[
        div(".name")[
            markup.icon(SYMBOLS.get(step.state, ICONS[step.phase])), span[step.title], time[seconds]
        ],
        div(".count")[count, beside and (" ", small[beside])],
    ]
    return str(cell)  # which htpy marks as HTML
