"""The strip “What if” at the lower edge of the window: the three settings that matter most, and what they change."""

from collections.abc import Callable
from functools import partial

import streamlit as st
from htpy import span

from core.config.schema import Parameter, parameters
from core.run.state import Run
from core.runtime.jobs import Job
from core.text.sanitize import pluralize
from pages.parts import markup, widgets
from pages.parts.research import status_line
from pages.parts.sidebar.knob_control import control, key
from pages.parts.sidebar.number_control import forget_typed

SETTINGS = ("rank.top_k", "rank.strategy", "chunk.size")
"""The settings of the strip. The sidebar has them too, with all others."""
PREFIX = "strip"
OPENED = "strip_opened"
"""Session key: whether the strip of a phone shows its settings."""


def strip(
    run: Run, shown: Run, job: Job | None, now: float, moved: Callable[[str], object], *, tunable: bool
) -> None:
    """Draw the settings, what they change, and on a phone the button that opens the settings.

    `shown` is the run ranked under the live knobs by `job`. `moved` is called with the fragment of a changed control.
    The settings of a run that is not `tunable` yet are grey, so that nothing moves when its answer is there.
    """
    opened = st.session_state.get(OPENED, False)
    with st.container(key="what_if", horizontal=True, vertical_alignment="center", gap="small"):
        markup.show(
            span(class_=["oq-what-if", {"opened": opened}])["What if ", span[_values()]], width="content"
        )
        _settings(run, moved, tunable=tunable)
        status_line.status_line(run, shown, job, now)
        label, symbol = ("Close settings", "expand_more") if opened else ("Open settings", "expand_less")
        widgets.button(label, symbol, _toggle, key="strip_toggle", type="tertiary")


def _toggle() -> None:
    st.session_state[OPENED] = not st.session_state.get(OPENED, False)


def _settings(run: Run, moved: Callable[[str], object], *, tunable: bool) -> None:
    """Draw the settings with the values of the sidebar. A change sets the sidebar's control."""
    with st.container(key="what_if_settings", horizontal=True, vertical_alignment="center", gap="medium"):
        for parameter in _parameters():
            st.session_state[key(parameter, PREFIX)] = st.session_state[key(parameter)]
            taken = partial(_take, parameter, moved)
            control(parameter, run=run, prefix=PREFIX, on_change=taken, disabled=not tunable, help=None)


def _parameters() -> list[Parameter]:
    by_path = {parameter.path: parameter for parameter in parameters()}
    return [by_path[path] for path in SETTINGS]


def _values() -> str:
    """Return the values of the settings in a few words."""
    count, *others = ((parameter, st.session_state[key(parameter)]) for parameter in _parameters())
    texts = (parameter.value_text(value) for parameter, value in others)
    return ", ".join((pluralize(count[1], "passage"), *texts))


def _take(parameter: Parameter, moved: Callable[[str], object]) -> None:
    """Set the sidebar's control to the value of the strip's."""
    forget_typed()
    st.session_state[key(parameter)] = st.session_state[key(parameter, PREFIX)]
    moved(key(parameter))
