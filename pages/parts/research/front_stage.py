"""The recorded run of the front page, which plays in the browser."""

import asyncio
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from core import followups
from core.analysis.progress import PHASES
from core.analysis.recorded_stage import cut_stage, recorded_stage
from core.errors import BadInput, OpenQueryError
from core.run.recorded_run import RecordedRun
from core.storage.bundle import recorded_run
from pages.parts import browser, page_frame, runtime
from pages.parts.research.stepper import ICONS

RECORDING = Path(__file__).with_name("recorded_run.zip")
"""A run over the handbook. CONTRIBUTING.md says how it is recorded."""
_SIZE = "recorded_size"
"""Session key of the passage size that was chosen last."""
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
def _cutting(size: int) -> Future[dict[str, Any]]:
    """Start to rank the recorded run with another passage size. Its passages are embedded again."""
    registry = runtime.runs()

    async def cut() -> dict[str, Any]:
        recorded = recording()
        if recorded is None:
            raise BadInput("The recorded run is missing.")
        knobs = replace(recorded.run.knobs, chunk=replace(recorded.run.knobs.chunk, size=size))
        ports = await registry.engine.ports(knobs, writes=False)
        return await asyncio.to_thread(
            cut_stage, recorded, await followups.retune(recorded.run, knobs, ports)
        )

    return registry.loop.submit(cut())


def front_stage() -> None:
    """Draw the recorded run, or nothing without one."""
    if _drawn():
        with st.container(key="front_stage"):
            _played()


@st.fragment(key="recorded_stage")
def _played() -> None:
    """Draw the stage, with the rankings of the passage size that was chosen last, once they are there."""
    drawn = _drawn()
    size = st.session_state.get(_SIZE)
    if drawn and size is not None and size in drawn["sizes"]:
        cutting = _cutting(int(size))
        if not cutting.done():
            page_frame.until(cutting.done, lambda: None, key="recorded_cutting")
        else:
            drawn = drawn | _cut(cutting)
    _stage(key="recorded", data=drawn, on_open_change=_open, on_size_change=_choose_size)


def _cut(cutting: Future[dict[str, Any]]) -> dict[str, Any]:
    """Return the rankings, or why there are none. A failure is tried again with the next choice."""
    try:
        return {"other": cutting.result()}
    except OpenQueryError as error:
        _cutting.cache_clear()
        return {"refusal": error.message}


def _choose_size() -> None:
    st.session_state[_SIZE] = getattr(st.session_state.get("recorded"), "size", None)


def _open() -> None:
    """Store the recorded run as a run of this visitor, unless it is stored, and show it."""
    recorded = recording()
    if recorded is None:
        return
    with runtime.errors_after_rerun:
        run_id = st.session_state.get(_OPENED, "")
        if not run_id or runtime.runs().get(run_id) is None:
            run_id = runtime.runs().import_run(recorded, runtime.history_user())
            st.session_state[_OPENED] = run_id
        runtime.show_run(run_id)
    st.rerun("app")
