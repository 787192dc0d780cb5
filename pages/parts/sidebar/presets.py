"""Presets: settings saved under a name, and applied to the controls."""

import time
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

import streamlit as st

from core.config.knobs import Knobs
from core.errors import BadInput, OpenQueryError
from core.storage.presets import NAME_LIMIT, Preset, Presets
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import plural, pluralize
from pages.parts import runtime, widgets
from pages.parts.sidebar import controls

P = ParamSpec("P")

MESSAGE = "preset_message"
"""Session key of the latest message: its box, success, text and time."""
DELETED = "deleted_preset"
"""Session key of the deleted preset in the latest message."""
MESSAGE_SECONDS = 20.0
"""Seconds that a message is shown. The script may rerun any number of times meanwhile."""


def sidebar() -> None:
    """The preset box of the sidebar, for all knobs."""
    with st.sidebar, st.expander("Presets", icon=":material/bookmarks:", key="group_presets", type="compact"):
        box("main", controls.knobs, controls.set_controls)


def box(key: str, current: Callable[[], Knobs], apply: Callable[[Knobs], object]) -> None:
    """Choose, save, rename and delete presets. `current` returns the settings to save, `apply` sets the controls."""
    saved = _presets().all(runtime.label_user())
    names = [preset.name for preset in saved.presets]
    chosen = f"preset_{key}"
    if st.session_state.get(chosen) not in names:
        st.session_state[chosen] = None
    name = st.selectbox(
        "Preset",
        names,
        key=chosen,
        placeholder="Choose a preset" if names else "No presets saved",
        disabled=not names,
        label_visibility="collapsed",
    )
    with st.container(horizontal=True, gap="small"):
        widgets.button(
            "Apply",
            "check",
            _apply,
            key,
            name,
            apply,
            key=f"preset_apply_{key}",
            type="primary",
            disabled=name is None,
        )
        widgets.button(
            "Delete",
            "delete",
            _delete,
            key,
            name,
            key=f"preset_delete_{key}",
            type="tertiary",
            disabled=name is None,
        )
    st.text_input(
        "Name",
        key=f"preset_name_{key}",
        max_chars=NAME_LIMIT,
        placeholder="Preset name",
        label_visibility="collapsed",
    )
    with st.container(horizontal=True, gap="small"):
        widgets.button("Save preset", "bookmark_add", _save, key, current, key=f"preset_save_{key}")
        widgets.button(
            "Rename",
            "edit",
            _rename,
            key,
            name,
            key=f"preset_rename_{key}",
            type="tertiary",
            disabled=name is None,
            help="Renames the selected preset to the name above.",
        )
    _messages(key, saved.problems)


def _messages(key: str, problems: tuple[str, ...]) -> None:
    where, good, text, shown_at = st.session_state.get(MESSAGE, ("", True, "", 0.0))
    if where == key and time.monotonic() - shown_at < MESSAGE_SECONDS:
        st.caption(f":{'green' if good else 'red'}[{markdown_label(text, 300)}]")
        if deleted := st.session_state.get(DELETED):
            widgets.button("Undo", "undo", _restore, key, deleted, key=f"preset_undo_{key}")
    if runtime.runs().settings.shared and runtime.history_user().startswith("session "):
        st.caption("Presets last for this browser session; sign in to keep them.")
    for problem in problems[:3]:
        st.caption(f":material/warning: {markdown_label(problem, 300)}")
    if len(problems) > 3:
        st.caption(
            f"{pluralize(more := len(problems) - 3, 'more file')} {plural(more, 'is', 'are')} invalid."
        )


def _presets() -> Presets:
    return runtime.runs().presets


# --- actions ----------------------------------------------------------------------------------------------


def _reported(action: Callable[Concatenate[str, P], str]) -> Callable[Concatenate[str, P], None]:
    """Decorate an action to show its message or error. The message is below the box with this key."""

    @wraps(action)
    def reported(key: str, /, *args: P.args, **options: P.kwargs) -> None:
        st.session_state.pop(DELETED, None)
        try:
            message = (True, action(key, *args, **options))
        except OpenQueryError as error:
            message = (False, str(error))
        st.session_state[MESSAGE] = (key, *message, time.monotonic())

    return reported


@_reported
def _apply(key: str, name: str, apply: Callable[[Knobs], object]) -> str:
    preset = _presets().all(runtime.label_user()).get(name)
    if preset is None:
        raise BadInput(f"There is no preset “{name}”.", hint="It was deleted in another session.")
    apply(preset.knobs)
    return f"“{name}” is applied."


@_reported
def _save(key: str, current: Callable[[], Knobs]) -> str:
    preset = _presets().save(st.session_state[f"preset_name_{key}"], current(), runtime.label_user())
    _choose(key, preset)
    return f"“{preset.name}” is saved."


@_reported
def _rename(key: str, name: str) -> str:
    preset = _presets().rename(name, st.session_state[f"preset_name_{key}"], runtime.label_user())
    _choose(key, preset)
    return f"Renamed to “{preset.name}”."


def _choose(key: str, preset: Preset) -> None:
    """Choose a preset, and empty its name field."""
    st.session_state[f"preset_{key}"] = preset.name
    st.session_state[f"preset_name_{key}"] = ""


@_reported
def _delete(key: str, name: str) -> str:
    preset = _presets().all(runtime.label_user()).get(name)
    _presets().delete(name, runtime.label_user())
    st.session_state[DELETED] = preset
    return f"“{name}” is deleted."


@_reported
def _restore(key: str, deleted: Preset) -> str:
    _presets().save(deleted.name, deleted.knobs, runtime.label_user())
    st.session_state[f"preset_{key}"] = deleted.name
    return f"“{deleted.name}” is saved again."
