"""Page addresses: settings and the browser's history of runs (decision 0028)."""

from collections.abc import Collection, Mapping

import streamlit as st

from core.config.knob_changes import AppliedChanges, apply_changes, changes
from core.config.knobs import Knobs
from core.run.state import Run
from core.text.markdown.safe_markdown import markdown_label
from pages.parts import runtime
from pages.parts.browser import component

SETTINGS = "set"
"""Parameter of the Ask page with changed settings, each written `group.name:value`."""
MAX_IGNORED = 5
"""The most ignored settings that a message names."""

_history = component("history")


def keep_history(run: Run | None, *, opens: bool = False) -> None:
    """Keep one history entry per run in the browser.

    Every page that shows a run calls this. A page that only opens runs on other pages passes `opens`.
    """
    _history(key="history_component", data={"run": run.id if run else "", "opens": opens})


def view_choice(titles: Mapping[str, str], default: str = "", key: str = "view", name: str = "view") -> str:
    """Draw the choice of a page's views, and return the chosen name.

    The choice is kept in the address as `name`. Streamlit would write labels into the address, so the choice
    is not bound to it. The address wins over the session, and without a view it means the default. The
    default is not written, so that opening the page changes no address.

    Args:
        titles: the label of each view, by name.
        default: the view without an address, or "" for the first view.
        key: the session key of the choice.
        name: the address parameter.
    """
    default = default or next(iter(titles))
    if runtime.came_by_history() or st.query_params.get(name) in titles:
        view = st.query_params.get(name)
        st.session_state[key] = view if view in titles else default
    chosen = st.segmented_control(
        "View",
        list(titles),
        key=key,
        default=None if st.session_state.get(key) else default,
        required=True,
        on_change=keep_choice,
        args=(name, key),
        format_func=titles.__getitem__,
        label_visibility="collapsed",
        persist_state="session",
    )
    view = chosen or default
    if st.query_params.get(name, default) != view:
        st.query_params[name] = view
    return view


def choice(name: str, options: Collection[str], key: str, default: str) -> None:
    """Set a control from the address, or to its default.

    Call this before the control is drawn. The control's `on_change` is `keep_choice`.
    """
    value = st.query_params.get(name)
    st.session_state[key] = value if value in options else default


def keep_choice(name: str, key: str) -> None:
    """Write a control's value into the address."""
    st.query_params[name] = st.session_state[key]


def toggle(name: str, value: str, most: int = 4) -> None:
    """Add or remove a value of an address parameter. With more than `most` values the earliest is dropped."""
    values = [*dict.fromkeys(st.query_params.get_all(name))]
    values = [other for other in values if other != value] if value in values else [*values, value][-most:]
    if values:
        st.query_params[name] = values
    else:
        st.query_params.pop(name, None)


def write_again() -> None:
    """Write the current address again. Streamlit leaves the address alone for a link to the open page."""
    st.query_params.from_dict(st.query_params.to_dict())


def settings(name: str, original: Knobs, groups: Collection[str]) -> AppliedChanges:
    """Return the original knobs with the changes from the address."""
    return apply_changes(original, st.query_params.get_all(name), groups)


def keep_settings(name: str, original: Knobs, knobs: Knobs, groups: Collection[str]) -> None:
    """Write changed knobs into the address.

    If the address already means these knobs, show which parts are ignored.
    """
    preset_settings = settings(name, original, groups)
    if preset_settings.knobs == knobs:
        show_ignored(preset_settings.ignored)
    elif written_changes := changes(original, knobs):
        st.query_params[name] = written_changes
    else:
        st.query_params.pop(name, None)


def show_ignored(ignored: Collection[str], where: str = "the address") -> None:
    """Name the settings that were ignored."""
    if not ignored:
        return
    ignored_names = "; ".join(markdown_label(name, 200) for name in list(ignored)[:MAX_IGNORED])
    more = f"; and {len(ignored) - MAX_IGNORED} more" if len(ignored) > MAX_IGNORED else ""
    st.warning(f"**Ignored in {where}:** {ignored_names}{more}", icon=":material/link_off:")
