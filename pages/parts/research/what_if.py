"""The strip “What if” at the lower edge of the window: the three settings that matter most, and what they change."""

from collections.abc import Callable
from functools import partial

import streamlit as st
from htpy import span

from core.config.schema import Parameter, parameters
from core.run.state import Run
from pages.parts import markup
from pages.parts.sidebar.knob_control import control, key
from pages.parts.sidebar.number_control import forget_typed

SETTINGS = ("rank.top_k", "rank.strategy", "chunk.size")
"""The settings of the strip. The sidebar has them too, with all others."""
PREFIX = "strip"


def settings(run: Run, moved: Callable[[str], object], *, tunable: bool) -> None:
    """Draw the settings of the strip with the values of the sidebar.

    A change sets the sidebar's control, and calls `moved` with its fragment. The settings of a run that is not
    `tunable` yet are grey, so that nothing moves when its answer is there.
    """
    by_path = {parameter.path: parameter for parameter in parameters()}
    with st.container(key="what_if_settings", horizontal=True, vertical_alignment="center", gap="medium"):
        markup.show(span(".oq-what-if")["What if"])
        for path in SETTINGS:
            parameter = by_path[path]
            st.session_state[key(parameter, PREFIX)] = st.session_state[key(parameter)]
            taken = partial(_take, parameter, moved)
            control(parameter, run=run, prefix=PREFIX, on_change=taken, disabled=not tunable, help=None)


def _take(parameter: Parameter, moved: Callable[[str], object]) -> None:
    """Set the sidebar's control to the value of the strip's."""
    forget_typed()
    st.session_state[key(parameter)] = st.session_state[key(parameter, PREFIX)]
    moved(key(parameter))
