"""Read-only links to a run: created, copied and revoked.

They are in the Export menu. A page with such a link says so.
"""

import streamlit as st
from htpy import div, span

from core.config.permissions import Action
from core.errors import OpenQueryError
from core.run.run_ids import is_link
from pages.parts import browser, markup, runtime, widgets
from pages.parts.problems import problem

_MADE = "links_made"
"""Session key: links created in this session, by their name. Nobody else has them."""


def link_notice(run_id: str) -> None:
    """Say that the page shows a run by a read-only link. Nothing is drawn for a run of the history."""
    if is_link(run_id):
        text = "You see this run by a read-only link. Tuning it changes what you see, not the run."
        markup.show(div(".oq-status-line")[markup.icon("visibility"), span[text]])


def link_list(run_id: str) -> None:
    """Draw a run's links, with buttons to create and revoke them."""
    markup.show(markup.section_heading("Read-only links", "to look at the run and tune a copy"))
    try:
        if not runtime.caller().may(Action.SHARE_RUN, runtime.runs().store.user(run_id)):
            st.caption("Only whoever asked the question can make one.")
            return
        links = runtime.runs().links.of(run_id)
    except OpenQueryError as error:
        problem(error)
        return
    made: dict[str, str] = st.session_state.get(_MADE, {})
    for link in links:
        if link.id in made:
            st.code(
                f"{(st.context.url or '').rstrip('/')}/?run={made[link.id]}", language=None, wrap_lines=True
            )
        with st.container(horizontal=True, vertical_alignment="center", key=f"link_{link.id}"):
            hidden = "" if link.id in made else ", shown only where it was made"
            st.caption(f"Made {browser.local_time(link.made)}{hidden}", width="stretch")
            widgets.button(
                "Take back",
                "link_off",
                _take_back,
                run_id,
                link.id,
                key=f"link_take_back_{link.id}",
                type="tertiary",
            )
    widgets.button("Make a link", "add_link", _make, run_id, key="link_make")


def _make(run_id: str) -> None:
    def work() -> None:
        link, entry = runtime.runs().links.make(run_id)
        st.session_state.setdefault(_MADE, {})[entry.id] = link

    runtime.change_runs([run_id], work, Action.SHARE_RUN)


def _take_back(run_id: str, link_id: str) -> None:
    runtime.change_runs([run_id], lambda: runtime.runs().links.take_back(run_id, link_id), Action.SHARE_RUN)
