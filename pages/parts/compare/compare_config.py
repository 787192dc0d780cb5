"""One side of a comparison: run, knobs, embedder, chat model. Only passage and ranking knobs can differ."""

import time
from dataclasses import dataclass, replace
from math import inf

import streamlit as st

from core.config.access import Access
from core.config.knob_changes import apply_changes, changes
from core.config.knobs import Knobs, Strategy
from core.run.state import Run
from pages.parts import address, runtime
from pages.parts.problems import errors_inline
from pages.parts.sidebar import controls

SIDES = {"a": "A", "b": "B"}
GROUPS = dict(controls.LIVE)
RUN_AND_MODELS = ("run", "embedder", "model")
"""Address parameters of a side besides its knobs."""
DRAWN = "compared_address"
"""Session key of what the address last said."""
OUTDATED = 2.0
"""Seconds in which the browser may still send an address that was replaced."""
Sides = tuple[tuple[str, ...], ...]
UNCHANGED = "own"
"""Address value for a side with its run's settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareConfig:
    """The configuration of one side.

    Empty `embedder` means the run's embedder, empty `model` the server's default.
    """

    side: str
    run: Run
    knobs: Knobs
    embedder: str = ""
    model: str = ""

    @property
    def label(self) -> str:
        """The name of the side on screen."""
        return SIDES[self.side]

    @property
    def access(self) -> Access:
        """The visitor's access, with the models of this side."""
        access = runtime.access()
        return replace(access, chat_model=self.model or access.chat_model, embedding_model=self.embedder)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The compared run, both sides as they were written into the address, and when each earlier pair was replaced."""

    run: str
    sides: Sides
    replaced: dict[Sides, float]

    def has_written(self, sides: Sides) -> bool:
        """Whether these sides come from this page, and not from a link."""
        age = time.monotonic() - self.replaced.get(sides, -inf)
        return sides == self.sides or age < OUTDATED


def prefix(side: str) -> str:
    """The prefix of the keys of a side's knobs."""
    return f"side_{side}"


def key(side: str, field: str) -> str:
    """The key of a control of a side."""
    return f"{prefix(side)}_{field}"


def adopt(run: Run) -> None:
    """Set the controls of a newly shown run, or of a new address, from the address.

    An address without settings leaves those of the run as they are.
    """
    sides, drawn = _sides(), st.session_state.get(DRAWN)
    is_own = not any(sides) or (drawn is not None and drawn.has_written(sides))
    if drawn is not None and drawn.run == run.id and is_own and not runtime.came_by_history():
        return
    for side in SIDES:
        added(side).clear()
        copy_to(side, _in_address(run, side)[0])


def _sides() -> Sides:
    return tuple(tuple(st.query_params.get_all(side)) for side in SIDES)


def _in_address(run: Run, side: str) -> tuple[CompareConfig, tuple[str, ...]]:
    """Return a side's configuration from the address, and the ignored parts.

    Without an address, A is the run and B a variant.
    """
    parts = st.query_params.get_all(side)
    values = dict(part.partition(":")[::2] for part in parts)
    other = _other(run, values.get("run", ""))
    ignored: tuple[str, ...] = ()
    if values.get("run", other.id) != other.id:
        ignored = (f"run:{values['run'][:40]} (no such run with a ranking)",)
    changed = [part for part in parts if part != UNCHANGED and part.partition(":")[0] not in RUN_AND_MODELS]
    applied = apply_changes(other.knobs, changed, GROUPS)
    config = CompareConfig(
        side=side,
        run=other,
        knobs=variant(run.knobs) if side == "b" and not parts else applied.knobs,
        embedder=values.get("embedder", ""),
        model=values.get("model", ""),
    )
    return config, (*ignored, *applied.ignored)


def _other(run: Run, run_id: str) -> Run:
    """Return the run with this id, or the page's own run.

    An empty id or a run that cannot be compared gives the page's run.
    """
    if not run_id or run_id == run.id:
        return run
    with errors_inline:
        other_run = runtime.runs().get(run_id)
        return run if other_run is None or other_run.live or other_run.index is None else other_run
    return run


def variant(knobs: Knobs) -> Knobs:
    """Return knobs with another ranking strategy. The default comparison then shows a difference."""
    other = Strategy.COSINE if knobs.rank.strategy is Strategy.FUSED else Strategy.FUSED
    return replace(knobs, rank=replace(knobs.rank, strategy=other))


def added(side: str) -> list[str]:
    """Return the paths of the knobs that were chosen from the menu of a side."""
    paths: list[str] = st.session_state.setdefault(key(side, "added"), [])
    return paths


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


def keep_in_address(run: Run, *configs: CompareConfig) -> None:
    """Write both sides into the address, for sharing.

    If the address already means a side, show which parts are ignored.
    """
    for config in configs:
        address_config, ignored = _in_address(run, config.side)
        if _written(run, address_config) == _written(run, config):
            address.show_ignored(ignored, f"the address of {config.label}")
        else:
            st.query_params[config.side] = _written(run, config)
    drawn, sides, now = st.session_state.get(DRAWN), _sides(), time.monotonic()
    replaced: dict[Sides, float] = {}
    if drawn is not None and drawn.run == run.id:
        replaced = {pair: at for pair, at in drawn.replaced.items() if now - at < OUTDATED}
        if drawn.sides != sides:
            replaced[drawn.sides] = now
    st.session_state[DRAWN] = _Drawn(run.id, sides, replaced)


def leave_address() -> None:
    """Take both sides out of the address. Their controls keep them."""
    for side in SIDES:
        st.query_params.pop(side, None)


def _written(run: Run, config: CompareConfig) -> list[str]:
    parts = [] if config.run.id == run.id else [f"run:{config.run.id}"]
    parts += [f"{name}:{value}" for name in RUN_AND_MODELS[1:] if (value := getattr(config, name))]
    return [*parts, *changes(config.run.knobs, config.knobs)] or [UNCHANGED]


# --- actions ----------------------------------------------------------------------------------------------


def set_knobs(side: str, knobs: Knobs) -> None:
    """Set the knobs of a side."""
    controls.set_controls(knobs, *GROUPS, prefix=prefix(side))


def copy_to(side: str, config: CompareConfig) -> None:
    """Copy a configuration to a side."""
    set_knobs(side, config.knobs)
    st.session_state[key(side, "run")] = config.run.id
    for name in ("embedder", "model"):
        st.session_state[key(side, name)] = getattr(config, name) or None


def restore(run: Run, side: str) -> None:
    """Reset a side to its run's settings and models."""
    config = config_of(run, side)
    copy_to(side, CompareConfig(side=side, run=config.run, knobs=config.run.knobs))


def swap(run: Run) -> None:
    """Exchange the settings of both sides."""
    first, second = (config_of(run, side) for side in SIDES)
    copy_to("a", second)
    copy_to("b", first)
    answers = st.session_state.get("answer_pair")
    if answers:
        st.session_state["answer_pair"] = {"a": answers.get("b", ""), "b": answers.get("a", "")}
