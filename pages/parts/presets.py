"""Presets: the settings of now under a name, and named settings put in place."""

from __future__ import annotations

import time
from collections.abc import Callable

import streamlit as st

from core.config.knobs import Knobs
from core.errors import BadInput, OpenQueryError
from core.storage.presets import NAME_LIMIT, Presets
from core.text.safe_markdown import markdown_label
from pages.parts import controls, runtime

TOLD = "preset_told"
"""In the session: in which box what was said last, whether it is good news, and when."""
STANDS = 20.0
"""Seconds that it stands there. Other drawings of the page may come at any time."""


def sidebar() -> None:
    """Every knob, for the run on screen as far as they apply live and for the next one."""
    with (
        st.sidebar,
        st.expander("Presets", icon=":material/bookmarks:", key="group_presets", type="compact"),
    ):
        box("main", controls.knobs, controls.set_to)


def box(key: str, current: Callable[[], Knobs], put: Callable[[Knobs], object]) -> None:
    """Choose, save, rename and delete. `current` gives the settings to save, `put` sets the controls."""
    saved = _presets().all(_keeper())
    names = [preset.name for preset in saved.presets]
    chosen = f"preset_{key}"
    if st.session_state.get(chosen) not in names:
        st.session_state[chosen] = None
    name = st.selectbox(
        "Preset",
        names,
        key=chosen,
        placeholder="Choose a preset" if names else "None saved yet",
        disabled=not names,
        label_visibility="collapsed",
    )
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Apply",
            key=f"preset_apply_{key}",
            icon=":material/check:",
            type="primary",
            disabled=name is None,
            on_click=_apply,
            args=(key, name, put),
        )
        st.button(
            "Delete",
            key=f"preset_delete_{key}",
            icon=":material/delete:",
            type="tertiary",
            disabled=name is None,
            on_click=_delete,
            args=(key, name),
        )
    st.text_input(
        "Name",
        key=f"preset_name_{key}",
        max_chars=NAME_LIMIT,
        placeholder="A name for these settings",
        label_visibility="collapsed",
    )
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Save as a preset",
            key=f"preset_save_{key}",
            icon=":material/bookmark_add:",
            on_click=_save,
            args=(key, current),
        )
        st.button(
            "Rename",
            key=f"preset_rename_{key}",
            icon=":material/edit:",
            type="tertiary",
            disabled=name is None,
            help="Gives the chosen preset the name above.",
            on_click=_rename,
            args=(key, name),
        )
    _tell(key, saved.problems)


def _tell(key: str, problems: tuple[str, ...]) -> None:
    where, good, text, at = st.session_state.get(TOLD, ("", True, "", 0.0))
    if where == key and time.monotonic() - at < STANDS:
        st.caption(f":{'green' if good else 'red'}[{markdown_label(text, 300)}]")
    if runtime.runs().settings.shared and runtime.keeper().startswith("session "):
        st.caption("Kept for this browser session: sign in to keep them for longer.")
    for problem in problems[:3]:
        st.caption(f":material/warning: {markdown_label(problem, 300)}")
    if len(problems) > 3:
        st.caption(f"{len(problems) - 3} further entries cannot be used.")


def _presets() -> Presets:
    return runtime.runs().presets


def _keeper() -> str:
    """Whose presets: as with the history, everybody's on a server that is not shared."""
    return runtime.keeper() if runtime.runs().settings.shared else ""


# --- what is done -----------------------------------------------------------------------------------------


def _apply(key: str, name: str, put: Callable[[Knobs], object]) -> None:
    def work() -> str:
        preset = _presets().all(_keeper()).get(name)
        if preset is None:
            raise BadInput(f"There is no preset “{name}” any more.", hint="It was deleted elsewhere.")
        put(preset.knobs)
        return f"“{name}” is applied."

    _done(key, work)


def _save(key: str, current: Callable[[], Knobs]) -> None:
    def work() -> str:
        preset = _presets().save(st.session_state[f"preset_name_{key}"], current(), _keeper())
        st.session_state[f"preset_{key}"] = preset.name
        st.session_state[f"preset_name_{key}"] = ""
        return f"“{preset.name}” is saved."

    _done(key, work)


def _rename(key: str, name: str) -> None:
    def work() -> str:
        preset = _presets().rename(name, st.session_state[f"preset_name_{key}"], _keeper())
        st.session_state[f"preset_{key}"] = preset.name
        st.session_state[f"preset_name_{key}"] = ""
        return f"It is called “{preset.name}” now."

    _done(key, work)


def _delete(key: str, name: str) -> None:
    def work() -> str:
        _presets().delete(name, _keeper())
        return f"“{name}” is deleted."

    _done(key, work)


def _done(key: str, work: Callable[[], str]) -> None:
    try:
        told = (True, work())
    except OpenQueryError as error:
        told = (False, str(error))
    st.session_state[TOLD] = (key, *told, time.monotonic())
