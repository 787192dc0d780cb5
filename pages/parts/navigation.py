"""The navigation at the top: four pages, the history as a drawer, and a help menu."""

from collections.abc import Sequence

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages.parts import widgets
from pages.parts.history import history_drawer

DRAWER = "history_drawer"
"""Session key: the path and the run of the page on which the drawer is open."""


def navigation(
    current: StreamlitPage,
    pages: Sequence[StreamlitPage],
    history: StreamlitPage,
    more: Sequence[StreamlitPage],
) -> None:
    """Draw the links to the pages, the button of the history and the menu.

    The drawer stays open while its page is drawn again, and closes when another page or run is opened.
    """
    shown = (current.url_path, st.query_params.get("run", ""))
    if st.session_state.get(DRAWER) not in (None, shown):
        _close()
    with st.container(key="nav", horizontal=True, vertical_alignment="center", gap="xxsmall"):
        for page in pages:
            st.page_link(page)
        st.space("stretch")
        if current is history:  # the whole list: the drawer would be a second one
            st.page_link(history)
        else:
            widgets.button("History", "history", _open, current.url_path, key="open_history", type="tertiary")
        with st.popover(
            "Help", icon=":material/help:", type="tertiary", key="nav_more", help="Handbook and System"
        ):
            for page in more:
                st.page_link(page)
    if st.session_state.get(DRAWER):
        history_drawer.drawer(_close, shown[1])


def _open(path: str) -> None:
    # Read now: a page names its run in the address after the row was drawn.
    st.session_state[DRAWER] = (path, st.query_params.get("run", ""))


def _close() -> None:
    st.session_state.pop(DRAWER, None)
