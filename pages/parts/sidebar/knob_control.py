"""The control of a knob, generated from its bounds, title and description."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import streamlit as st

from core.config.schema import Parameter
from core.model.passage_urls import site
from core.run.state import Run
from core.text.sanitize import distinct_labels, one_line
from pages.parts import runtime
from pages.parts.sidebar.number_control import number_control

MAX_SEGMENT_CHARACTERS = 24
"""Characters that fit in a row of the sidebar. Longer choices become a select box."""


KNOB = "knob"
"""Prefix of the keys of the sidebar's controls."""


def key(parameter: Parameter, prefix: str = KNOB) -> str:
    """The key of the control of a knob."""
    return f"{prefix}_{parameter.group}_{parameter.name}"


def default(parameter: Parameter) -> Any:
    """Return a knob's default as a control's value. The operator may set it."""
    value = runtime.runs().settings.knobs.get(parameter.path, parameter.default)
    return list(value) if parameter.items else getattr(value, "value", value)


def value_of(parameter: Parameter, prefix: str = KNOB) -> Any:
    """Return the value of a knob's control, or its default without one."""
    try:
        return st.session_state[key(parameter, prefix)]
    except KeyError:
        return default(parameter)


def control(
    parameter: Parameter,
    *,
    run: Run | None = None,
    prefix: str = KNOB,
    alone: bool = False,
    **options: Any,
) -> None:
    """Draw the control of a knob. A list of pages offers the run's pages.

    Args:
        parameter: the knob.
        run: the run whose knob it is.
        prefix: the prefix of the control's key.
        alone: whether nothing else is in the container around it, such as in a fragment of its own.
        options: passed to the widget.
    """
    common: dict[str, Any] = {
        "key": key(parameter, prefix),
        "help": parameter.description,
        "persist_state": "session",
        **options,
    }
    if parameter.items:
        pages = {page.key: page for page in run.ranked_pages} if run else {}
        labels = distinct_labels(
            {
                page: one_line(pages[page].title or site(page), 60) if page in pages else site(page) or page
                for page in (*pages, *st.session_state.get(common["key"], ()))
            }
        )
        st.multiselect(
            parameter.title,
            list(labels),
            format_func=lambda page: labels.get(page, page),
            placeholder="None",
            **common,
        )
    elif parameter.enum:
        labels = {value: parameter.value_text(value) for value in parameter.enum}
        if sum(map(len, labels.values())) <= MAX_SEGMENT_CHARACTERS:
            st.segmented_control(
                parameter.title, list(labels), format_func=labels.__getitem__, required=True, **common
            )
        else:
            st.selectbox(parameter.title, list(labels), format_func=labels.__getitem__, **common)
    elif parameter.type == "boolean":
        st.toggle(parameter.title, **common)
    elif parameter.minimum is not None and parameter.maximum is not None:
        with nullcontext() if alone else st.container():
            number_control(parameter, parameter.step, parameter.control.labels, **common)
    else:
        st.text_input(parameter.title, max_chars=parameter.longest, **common)


@st.fragment
def group_of_controls(
    name: str,
    title: str,
    symbol: str,
    knobs: Callable[[], Iterable[Parameter]],
    *,
    on_change: Callable[[], object],
    drawn: Callable[[], object],
) -> None:
    """Draw the controls of a group for the next run, and then call `drawn`.

    A closed group is not sent. `on_change` is the callback of the controls.
    """
    expander = st.expander(
        title, icon=f":material/{symbol}:", key=f"group_{name}", type="compact", on_change="rerun"
    )
    if expander.open:
        with expander:
            for knob in knobs():
                control(knob, on_change=on_change)
    drawn()
