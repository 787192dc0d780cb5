"""The address of a page: settings in it, and the browser's history of runs (decision 0028)."""

from collections.abc import Collection

import streamlit as st

from core.config.knob_changes import AppliedChanges, apply_changes, changes
from core.config.knobs import Knobs
from core.run.state import Run
from core.text.markdown.safe_markdown import markdown_label
from pages.parts.browser import component

SETTINGS = "set"
"""The parameter of the Research page with what was changed after the run, one `group.name:value` each."""
MAX_IGNORED = 5
"""The most ignored settings that a message names."""

_history = component("history")


def keep_history(run: Run | None, *, opens: bool = False) -> None:
    """Keep one entry a run in the browser's history. Every page that shows a run calls this, and with `opens` one
    that only opens runs on another page."""
    with st.container(key="history_component"):
        _history(key="history", data={"run": run.id if run else "", "opens": opens})


def write_again() -> None:
    """Write the address as it is: Streamlit changes none for a link to the page that is open."""
    st.query_params.from_dict(st.query_params.to_dict())


def settings(name: str, original: Knobs, groups: Collection[str]) -> AppliedChanges:
    """The original knobs with the changes in this parameter of the address."""
    return apply_changes(original, st.query_params.get_all(name), groups)


def keep_settings(name: str, original: Knobs, knobs: Knobs, groups: Collection[str]) -> None:
    """Write what differs from the original into the address, or name what is ignored in the address."""
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
