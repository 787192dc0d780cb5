"""The strip “What if” at the lower edge of the window: the three settings that matter most, and what they change."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import inf
from time import monotonic

import streamlit as st
from htpy import span

from core.config.schema import Parameter, parameters
from core.run.state import Run
from core.text.sanitize import pluralize
from pages.parts import markup, widgets
from pages.parts.sidebar.knob_control import KNOB, control, key
from pages.parts.sidebar.number_control import SETTLING, forget_typed

SETTINGS = ("rank.top_k", "rank.strategy", "chunk.size")
"""The settings of the strip. The sidebar has them too, with all others."""
PREFIX = "strip"
GIVEN = "strip_given"
"""Session key: the values that the controls of the strip were given."""
OPENED = "strip_opened"
"""Session key: whether the strip of a phone shows its settings."""


def strip(run: Run, moved: Callable[[str], object], line: Callable[[], object], *, tunable: bool) -> None:
    """Draw the settings, what they change by `line`, and on a phone the button that opens the settings.

    `moved` is called with the fragment of a changed control. The settings of a run that is not `tunable` yet are
    grey, so that nothing moves when its answer is there.
    """
    with st.container(key="what_if", horizontal=True, vertical_alignment="center", gap="small"):
        _name()
        with st.container(key="what_if_settings", horizontal=True, vertical_alignment="center", gap="medium"):
            for parameter in _parameters():
                st.fragment(_setting, key=key(parameter, PREFIX))(parameter, run, moved, tunable=tunable)
        line()


@st.fragment
def _name() -> None:
    opened = st.session_state.get(OPENED, False)
    markup.show(span(class_=["oq-what-if", {"opened": opened}])["What if"], width="content")
    label, symbol = ("Close settings", "expand_more") if opened else ("Open settings", "expand_less")
    widgets.button(label, symbol, _toggle, key="strip_toggle", type="tertiary")


def _toggle() -> None:
    st.session_state[OPENED] = not st.session_state.get(OPENED, False)


def _setting(parameter: Parameter, run: Run, moved: Callable[[str], object], *, tunable: bool) -> None:
    """Draw a setting with the value of the sidebar's control. A change sets that control."""
    _follow(key(parameter, PREFIX), st.session_state[key(parameter)])
    taken = partial(_take, parameter, moved)
    control(parameter, run=run, prefix=PREFIX, alone=True, on_change=taken, disabled=not tunable, help=None)


def fragments_of(control: str) -> tuple[str, ...]:
    """Return the fragments with the value of a live control of the sidebar or the strip, by its key.

    A name that is not a control's stands for all of them.
    """
    name = control.removeprefix(f"{PREFIX}_").removeprefix(f"{KNOB}_")
    settings = {key(parameter, PREFIX) for parameter in _parameters()}
    twin = f"{PREFIX}_{name}"
    if name == control:
        return control, *settings
    return f"{KNOB}_{name}", *((twin,) if twin in settings else ())


def _parameters() -> list[Parameter]:
    by_path = {parameter.path: parameter for parameter in parameters()}
    return [by_path[path] for path in SETTINGS]


def values() -> str:
    """Return the values of the settings in a few words."""
    count, *others = ((parameter, st.session_state[key(parameter)]) for parameter in _parameters())
    texts = (parameter.value_text(value) for parameter, value in others)
    return ", ".join((pluralize(count[1], "passage"), *texts))


@dataclass
class _Given:
    """The value that a control of the strip was given last, and when each one before it was replaced."""

    last: object = None
    replaced: dict[object, float] = field(default_factory=dict)


def _follow(name: str, value: object) -> None:
    """Set a control of the strip to the value of the sidebar's."""
    given = _given(name)
    before = st.session_state.get(name)
    if before not in (None, value):
        given.replaced |= dict.fromkeys((before, given.last), monotonic())
        given.replaced.pop(value, None)
    given.last = value
    st.session_state[name] = value


def _given(name: str) -> _Given:
    given: _Given = st.session_state.setdefault(GIVEN, {}).setdefault(name, _Given())
    return given


def _take(parameter: Parameter, moved: Callable[[str], object]) -> None:
    """Set the sidebar's control to the value of the strip's.

    With the next move of the sidebar's control, a browser sends the value that the strip had before the last one. That
    would take the move back.
    """
    name = key(parameter, PREFIX)
    given = _given(name)
    if monotonic() - given.replaced.get(st.session_state[name], -inf) < SETTLING:
        return
    given.replaced.clear()
    forget_typed()
    st.session_state[key(parameter)] = st.session_state[name]
    moved(key(parameter))
