"""The two settings that are compared: their controls, their place in the address, and their rankings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from core.errors import BadInput
from core.jobs import Job
from core.knobs import Knobs, Strategy
from core.run import Run
from core.schema import nested, parameters
from pages.parts import controls, markup, runtime
from pages.parts.bench import frame

SIDES = {"a": "A", "b": "B"}
GROUPS = dict(controls.LIVE)
AT_ONCE = 0.6
"""Seconds that a drawing of the page waits for a ranking, which is most often ready by then."""


def prefix(side: str) -> str:
    return f"side_{side}"


def adopt(run: Run) -> None:
    """Set the controls to what the address says, when the run comes on screen; else to the run's and a variant."""
    if st.session_state.get("sides_of") == run.id:
        return
    st.session_state["sides_of"] = run.id
    for side, usual in (("a", run.knobs), ("b", variant(run.knobs))):
        _set(side, _read(run, side) or usual)


def variant(knobs: Knobs) -> Knobs:
    """Another way to rank, so that there is something to see at first sight."""
    other = Strategy.COSINE if knobs.rank.strategy is Strategy.FUSED else Strategy.FUSED
    return replace(knobs, rank=replace(knobs.rank, strategy=other))


def knobs(run: Run, side: str) -> Knobs:
    """The run's knobs with those of a side; they are written into the address, so that it can be shared."""
    turned = controls.live_knobs(run, prefix(side))
    told = _written(run.knobs, turned)
    if st.query_params.get_all(side) != told:
        st.query_params[side] = told
    return turned


def _written(usual: Knobs, turned: Knobs) -> list[str]:
    """Every knob that is not the run's, as `group.name:value`; one `own` when all are."""
    told = []
    for one in parameters():
        value = getattr(getattr(turned, one.group), one.name)
        if value == getattr(getattr(usual, one.group), one.name):
            continue
        several = value if one.items else (value,)
        told += [f"{one.path}:{getattr(part, 'value', part)}" for part in several] or [f"{one.path}:"]
    return told or ["own"]


def _read(run: Run, side: str) -> Knobs | None:
    """The knobs that the address names; None when it names none, or some that there are not."""
    told = st.query_params.get_all(side)
    known = {one.path: one for one in parameters() if one.group in GROUPS}
    values: dict[str, Any] = {}
    for part in told:
        path, colon, value = part.partition(":")
        if not colon or path not in known:
            continue
        if known[path].items:
            values.setdefault(path, []).extend([value] if value else [])
        else:
            values[path] = value
    if not values:
        return run.knobs if told else None
    try:
        turned = Knobs.parse(nested(values))
    except BadInput as error:
        frame.problem(error)
        return None
    changed: dict[str, Any] = {
        group: replace(
            getattr(run.knobs, group), **{name: getattr(getattr(turned, group), name) for name in names}
        )
        for group, names in nested(values).items()
    }
    return replace(run.knobs, **changed)


def _set(side: str, turned: Knobs) -> None:
    controls.set_to(turned, *GROUPS, prefix=prefix(side))


# --- controls ---------------------------------------------------------------------------------------------


def panel(run: Run, side: str) -> None:
    """The controls of one side."""
    with st.container(border=True, key=f"panel_{side}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.html(f'<span class="oq-side {side}">{SIDES[side]}</span>', width="stretch")
            other = "b" if side == "a" else "a"
            st.button(
                f"Copy to {SIDES[other]}",
                key=f"copy_{side}",
                icon=":material/content_copy:",
                type="tertiary",
                on_click=_copy,
                args=(run, side, other),
            )
            st.button(
                "The run's own",
                key=f"own_{side}",
                icon=":material/undo:",
                type="tertiary",
                on_click=_set,
                args=(side, run.knobs),
            )
        columns = st.columns(2, gap="medium")
        for column, (group, title) in zip(columns, GROUPS.items(), strict=True):
            with column:
                st.html(markup.kicker(title))
                controls.live(group, title, run, prefix(side))


def _copy(run: Run, side: str, other: str) -> None:
    _set(other, controls.live_knobs(run, prefix(side)))


def swap(run: Run) -> None:
    first, second = (controls.live_knobs(run, prefix(side)) for side in SIDES)
    _set("a", second)
    _set("b", first)


# --- rankings ---------------------------------------------------------------------------------------------


def ranked(run: Run, side: str, turned: Knobs) -> Run | None:
    """The run under the knobs of a side; None while it is being ranked, or when that failed, which is told."""
    job = runtime.runs().tune(f"{runtime.viewer()} {side}", run.id, turned)
    if job is None:
        return None
    job.wait(AT_ONCE)
    if job.live:
        _waiting(job, side)
        return None
    if job.run.error and job.run is not run:
        st.error(f"**{SIDES[side]}:** {job.run.error.message}", icon=":material/error:")
        return None
    return job.run


def _waiting(job: Job, side: str) -> None:
    @st.fragment(run_every=0.4, key=f"being_ranked_{side}")
    def wait() -> None:
        if not job.live:
            st.rerun()
        st.html(
            f'<div class="oq-tuned busy">{markup.icon("tune")}<span>{SIDES[side]} is being ranked …</span></div>'
        )

    wait()
