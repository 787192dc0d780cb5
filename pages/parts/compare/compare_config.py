"""Configuration of one side of a comparison: run, passage and ranking knobs, embedder, chat model."""

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
RUN_AND_MODELS = ("run", "embedder", "model")
"""Parameters of a side besides its knobs, as named in the address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareConfig:
    """Empty `embedder` means the run's embedder, empty `model` the server's default."""

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
        """The visitor's access, with the models of this side."""
        access = runtime.access()
        return replace(access, chat_model=self.model or access.chat_model, embedding_model=self.embedder)


def prefix(side: str) -> str:
    return f"side_{side}"


def key(side: str, what: str) -> str:
    return f"{prefix(side)}_{what}"


def adopt(run: Run) -> None:
    """Set the controls of a newly shown run from the address, or to the run's settings and a variant of them."""
    if st.session_state.get("compared_run") == run.id:
        return
    st.session_state["compared_run"] = run.id
    for side, default in (("a", run.knobs), ("b", variant(run.knobs))):
        named = dict(part.partition(":")[::2] for part in st.query_params.get_all(side))
        other = _other(run, named.get("run", ""))
        set_knobs(side, _read(other, side) or (default if other is run else other.knobs))
        st.session_state[key(side, "run")] = other.id
        for name in ("embedder", "model"):
            st.session_state[key(side, name)] = named.get(name) or None


def _other(run: Run, run_id: str) -> Run:
    """The run of this id; the page's own run when it is empty or does not exist."""
    if not run_id or run_id == run.id:
        return run
    try:
        found = runtime.runs().get(run_id)
    except OpenQueryError as error:
        problem(error)
        return run
    if found is None or found.live or found.index is None:
        problem(BadInput("The run to compare with does not exist.", hint="This run is compared instead."))
        return run
    return found


def variant(knobs: Knobs) -> Knobs:
    """Knobs with another ranking strategy, so that the default comparison shows a difference."""
    other = Strategy.COSINE if knobs.rank.strategy is Strategy.FUSED else Strategy.FUSED
    return replace(knobs, rank=replace(knobs.rank, strategy=other))


def config_of(run: Run, side: str) -> CompareConfig:
    """The configuration in the controls of a side."""
    other = _other(run, st.session_state.get(key(side, "run")) or "")
    return CompareConfig(
        side=side,
        run=other,
        knobs=controls.live_knobs(other, prefix(side)),
        embedder=(st.session_state.get(key(side, "embedder")) or "").strip(),
        model=(st.session_state.get(key(side, "model")) or "").strip(),
    )


def write(run: Run, one: CompareConfig) -> None:
    """Write a side into the address, so that the comparison can be shared as a link."""
    parts = [] if one.run.id == run.id else [f"run:{one.run.id}"]
    parts += [f"{name}:{value}" for name in RUN_AND_MODELS[1:] if (value := getattr(one, name))]
    parts += _written(one.run.knobs, one.knobs)
    if st.query_params.get_all(one.side) != (parts or ["own"]):
        st.query_params[one.side] = parts or ["own"]


def _written(original: Knobs, changed: Knobs) -> Iterable[str]:
    """Every knob that differs from the run's, as `group.name:value`."""
    for one in parameters():
        value = getattr(getattr(changed, one.group), one.name)
        if value == getattr(getattr(original, one.group), one.name):
            continue
        several = value if one.items else (value,)
        yield from [f"{one.path}:{getattr(part, 'value', part)}" for part in several] or [f"{one.path}:"]


def _read(run: Run, side: str) -> Knobs | None:
    """The knobs in the address; None when it has none, or invalid ones."""
    parts = st.query_params.get_all(side)
    known = {one.path: one for one in parameters() if one.group in GROUPS}
    values: dict[str, Any] = {}
    for part in parts:
        path, colon, value = part.partition(":")
        if not colon or path not in known:
            continue
        if known[path].items:
            values.setdefault(path, []).extend([value] if value else [])
        else:
            values[path] = value
    if not values:
        return run.knobs if parts else None
    try:
        parsed = Knobs.parse(nested(values))
    except BadInput as error:
        problem(error)
        return None
    changed: dict[str, Any] = {
        group: replace(
            getattr(run.knobs, group), **{name: getattr(getattr(parsed, group), name) for name in names}
        )
        for group, names in nested(values).items()
    }
    return replace(run.knobs, **changed)


# --- actions ----------------------------------------------------------------------------------------------


def set_knobs(side: str, knobs: Knobs) -> None:
    """Set the knobs of a side."""
    controls.set_controls(knobs, *GROUPS, prefix=prefix(side))


def copy_to(side: str, one: CompareConfig) -> None:
    """Copy a configuration to a side."""
    set_knobs(side, one.knobs)
    st.session_state[key(side, "run")] = one.run.id
    for name in ("embedder", "model"):
        st.session_state[key(side, name)] = getattr(one, name) or None


def restore(run: Run, side: str) -> None:
    """Reset a side to its run's settings and models."""
    one = config_of(run, side)
    copy_to(side, CompareConfig(side=side, run=one.run, knobs=one.run.knobs))


def swap(run: Run) -> None:
    first, second = (config_of(run, side) for side in SIDES)
    copy_to("a", second)
    copy_to("b", first)
    answers = st.session_state.get("answer_pair")
    if answers:
        st.session_state["answer_pair"] = {"a": answers.get("b", ""), "b": answers.get("a", "")}
