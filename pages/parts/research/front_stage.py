"""The recorded run of the front page, which plays in the browser."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from core import followups
from core.analysis.progress import PHASES
from core.analysis.recorded_stage import cut_stage, recorded_stage
from core.errors import OpenQueryError
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.storage.bundle import recorded_run
from pages.parts import browser, runtime
from pages.parts.research.stepper import ICONS

RECORDING = Path(__file__).with_name("recorded_run.zip")
"""A run over the handbook. CONTRIBUTING.md says how it is recorded."""
CUT_SECONDS = 60.0
"""Seconds to wait for the passages of another size."""
_OPENED = "recorded_run_id"
"""Session key of the id under which the recorded run was stored."""

_stage = browser.component("front_stage", '<section class="oq-stage" aria-label="A recorded run"></section>')


@cache
def recording() -> RecordedRun | None:
    """Return the recorded run, or None if it is missing or cannot be read."""
    try:
        return recorded_run(RECORDING.read_bytes())
    except (OpenQueryError, OSError):
        return None


@cache
def _drawn() -> dict[str, Any] | None:
    recorded = recording()
    stage = recorded_stage(recorded) if recorded else None
    return stage and stage | {"phases": [[title, ICONS[phase]] for phase, title in PHASES]}


@cache
def _cut(size: int) -> dict[str, Any] | None:
    """Return the rankings of the recorded run with another passage size. Its passages are embedded again."""
    recorded, registry = recording(), runtime.runs()
    if recorded is None:
        return None
    knobs = replace(recorded.run.knobs, chunk=replace(recorded.run.knobs.chunk, size=size))

    async def cut() -> Run:
        return await followups.retune(recorded.run, knobs, await registry.engine.ports(knobs, writes=False))

    return cut_stage(recorded, registry.call(cut(), timeout=CUT_SECONDS))


def front_stage() -> None:
    """Draw the recorded run, or nothing without one."""
    if _drawn():
        with st.container(key="front_stage"):
            _played()


@st.fragment(key="recorded_stage")
def _played() -> None:
    """Draw the stage, with the rankings of the passage size that was chosen last."""
    drawn = _drawn()
    size = getattr(st.session_state.get("recorded"), "size", None)
    if drawn and size is not None and size in drawn["sizes"]:
        try:
            drawn = drawn | {"other": _cut(int(size))}
        except OpenQueryError as error:
            drawn = drawn | {"refusal": error.message}
    _stage(key="recorded", data=drawn, on_open_change=_open, on_size_change=lambda: None)


def _open() -> None:
    """Store the recorded run as a run of this visitor, unless it is stored, and show it."""
    recorded = recording()
    if recorded is None:
        return
    with runtime.refusing:
        run_id = st.session_state.get(_OPENED, "")
        if not run_id or runtime.runs().get(run_id) is None:
            run_id = runtime.runs().import_run(recorded, runtime.history_user())
            st.session_state[_OPENED] = run_id
        runtime.show_run(run_id)
    st.rerun("app")
