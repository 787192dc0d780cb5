"""The seven phases of a run with their counts and seconds."""

from __future__ import annotations

import streamlit as st

from core.analysis.progress import State, Step, steps
from core.model import Phase
from core.run.state import Run
from core.text.safe_markdown import escaped
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
SPOKEN = {
    State.WAITING: "not begun",
    State.RUNNING: "under way",
    State.DONE: "done",
    State.CUT: "cut short",
}


def stepper(run: Run, now: float) -> None:
    cells = "".join(map(_cell, steps(run, now)))
    st.html(f'<div class="oq-steps" role="list" aria-label="Phases of the run">{cells}</div>')


def _cell(step: Step) -> str:
    seconds = "" if step.seconds is None else markup.duration(step.seconds)
    count = escaped(step.count) if step.count and step.state is not State.WAITING else "–"
    unit = f"<small>{escaped(step.unit)}</small>" if count != "–" else ""
    symbol = "stop_circle" if step.state is State.CUT else ICONS[step.phase]
    return (
        f'<div class="oq-step {step.state}" data-phase="{step.phase}" role="listitem" '
        f'aria-label="{step.title}: {SPOKEN[step.state]}">'
        f'<div class="name">{markup.icon(symbol)}<span>{step.title}</span><time>{seconds}</time></div>'
        f'<div class="count">{count}{unit}</div></div>'
    )
