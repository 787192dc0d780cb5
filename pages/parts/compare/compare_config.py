"""What stands on either side of a comparison: a run, its passage and ranking knobs, an embedder, a chat model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from core.config.access import Access
from core.config.knobs import Knobs, Strategy
from core.config.schema import nested, parameters
from core.errors import BadInput, OpenQueryError
from core.run.state import Run
from pages.parts import controls, runtime
from pages.parts.problems import problem

SIDES = {"a": "A", "b": "B"}
GROUPS = dict(controls.LIVE)
BESIDE = ("run", "embedder", "model")
"""What a side has besides its knobs, as the address names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareSide:
    """Empty `embedder` and `model` stand for the run's own and for the usual one."""

    side: str
    run: Run
    knobs: Knobs
    embedder: str = ""
    model: str = ""

    @property
    def label(self) -> str:
        return SIDES[self.side]

    @property
    def access(self) -> Access:
        """What the visitor brought, with the models of this side."""
        own = runtime.access()
        return replace(own, chat_model=self.model or own.chat_model, embedding_model=self.embedder)


def prefix(side: str) -> str:
    return f"side_{side}"


def key(side: str, what: str) -> str:
    return f"{prefix(side)}_{what}"


def adopt(run: Run) -> None:
    """Set the controls to what the address says, when the run comes on screen; else to the run's and a variant."""
    if st.session_state.get("sides_of") == run.id:
        return
    st.session_state["sides_of"] = run.id
    for side, usual in (("a", run.knobs), ("b", variant(run.knobs))):
        told = dict(part.partition(":")[::2] for part in st.query_params.get_all(side))
        other = _other(run, told.get("run", ""))
        put(side, _read(other, side) or (usual if other is run else other.knobs))
        st.session_state[key(side, "run")] = other.id
        for name in ("embedder", "model"):
            st.session_state[key(side, name)] = told.get(name) or None


def _other(run: Run, run_id: str) -> Run:
    """The run that a side of the address names; the page's own when there is no such run."""
    if not run_id or run_id == run.id:
        return run
    try:
        found = runtime.runs().get(run_id)
    except OpenQueryError as error:
        problem(error)
        return run
    if found is None or found.live or found.index is None:
        problem(BadInput("The run to compare with is not there.", hint="This run stands in its place."))
        return run
    return found


def variant(knobs: Knobs) -> Knobs:
    """Another way to rank, so that there is something to see at first sight."""
    other = Strategy.COSINE if knobs.rank.strategy is Strategy.FUSED else Strategy.FUSED
    return replace(knobs, rank=replace(knobs.rank, strategy=other))


def of(run: Run, side: str) -> CompareSide:
    """What the controls of a side say."""
    other = _other(run, st.session_state.get(key(side, "run")) or "")
    return CompareSide(
        side=side,
        run=other,
        knobs=controls.live_knobs(other, prefix(side)),
        embedder=(st.session_state.get(key(side, "embedder")) or "").strip(),
        model=(st.session_state.get(key(side, "model")) or "").strip(),
    )


def write(run: Run, one: CompareSide) -> None:
    """Put a side into the address, so that it can be shared."""
    told = [] if one.run.id == run.id else [f"run:{one.run.id}"]
    told += [f"{name}:{value}" for name in BESIDE[1:] if (value := getattr(one, name))]
    told += _written(one.run.knobs, one.knobs)
    if st.query_params.get_all(one.side) != (told or ["own"]):
        st.query_params[one.side] = told or ["own"]


def _written(usual: Knobs, turned: Knobs) -> Iterable[str]:
    """Every knob that is not the run's, as `group.name:value`."""
    for one in parameters():
        value = getattr(getattr(turned, one.group), one.name)
        if value == getattr(getattr(usual, one.group), one.name):
            continue
        several = value if one.items else (value,)
        yield from [f"{one.path}:{getattr(part, 'value', part)}" for part in several] or [f"{one.path}:"]


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
        problem(error)
        return None
    changed: dict[str, Any] = {
        group: replace(
            getattr(run.knobs, group), **{name: getattr(getattr(turned, group), name) for name in names}
        )
        for group, names in nested(values).items()
    }
    return replace(run.knobs, **changed)


# --- what is done -----------------------------------------------------------------------------------------


def put(side: str, turned: Knobs) -> None:
    """Set the knobs of a side."""
    controls.set_to(turned, *GROUPS, prefix=prefix(side))


def set_to(side: str, one: CompareSide) -> None:
    """Make a side what another is."""
    put(side, one.knobs)
    st.session_state[key(side, "run")] = one.run.id
    for name in ("embedder", "model"):
        st.session_state[key(side, name)] = getattr(one, name) or None


def restore(run: Run, side: str) -> None:
    """The run's own settings and models."""
    one = of(run, side)
    set_to(side, CompareSide(side=side, run=one.run, knobs=one.run.knobs))


def swap(run: Run) -> None:
    first, second = (of(run, side) for side in SIDES)
    set_to("a", second)
    set_to("b", first)
    duels = st.session_state.get("duel")
    if duels:
        st.session_state["duel"] = {"a": duels.get("b", ""), "b": duels.get("a", "")}
