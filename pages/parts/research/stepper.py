"""Stepper: the seven phases of a run with counts and durations."""

from __future__ import annotations

from math import ceil

import streamlit as st

from core.analysis.progress import PhaseProgress, PhaseState, phase_progress
from core.model import Phase
from core.run.state import Run
from core.text.markdown.safe_markdown import escape_html
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
"""Symbols of states that matter more than the phase's own."""


def stepper(run: Run, now: float) -> None:
    """Draw the phases of the run at `now` seconds of its clock."""
    cells = "".join(map(_cell, phase_progress(run, now)))
    st.html(f'<div class="oq-steps" role="list" aria-label="Phases of the run">{cells}</div>')


def _cell(step: PhaseProgress) -> str:
    seconds = "" if step.seconds is None else markup.duration(step.seconds)
    if step.waiting:
        seconds = f"retry {ceil(step.wait_seconds)} s"
    waited = f"waited {markup.duration(step.waited)}" if step.waited >= 0.05 and not step.waiting else ""
    hint = escape_html(step.waiting or step.detail)
    state = f"{step.state} retry" if step.waiting else str(step.state)
    count = escape_html(step.count) if step.count and step.state is not PhaseState.WAITING else "–"
    beside = " · ".join(filter(None, (step.unit if count != "–" else "", waited)))
    unit = f" <small>{escape_html(beside)}</small>" if beside else ""
    symbol = SYMBOLS.get(step.state, ICONS[step.phase])
    return (
        f'<div class="oq-step {state}" data-phase="{step.phase}" role="listitem" title="{hint}" '
        f'aria-label="{step.title}: {STATE_LABELS[step.state]}{f", {waited}" if waited else ""}{f", {hint}" if hint else ""}">'
        f'<div class="name">{markup.icon(symbol)}<span>{step.title}</span><time>{seconds}</time></div>'
        f'<div class="count">{count}{unit}</div></div>'
    )
