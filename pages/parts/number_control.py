"""A slider with a field for its number. Both always show the same value, which is the slider's."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.config.schema import Parameter

DIGITS = 10
"""The longest text of a field, in characters."""
SETTLING = 2.0
"""Seconds after a change in which the browser may still tell what slider and field had before."""
_TYPED = "typed_numbers"


@dataclass(frozen=True, slots=True)
class _Typed:
    """A number that was typed, and what the slider had before."""

    number: float
    before: float
    at: float
    """Seconds of the monotonic clock."""


def number_control(
    parameter: Parameter, step: float, labels: Mapping[int, str], *, key: str, **common: Any
) -> None:
    """Draw the slider of a knob with bounds, and its field.

    Args:
        parameter: the knob.
        step: the distance between values that the slider reaches; the field takes those between, too.
        labels: numbers with a meaning of their own, and what is shown in their place.
        key: the key of the slider. The field's is `typed_<key>`.
        common: further arguments of the slider.
    """
    low, high = _bounds(parameter)
    _keep_typed(key)
    with st.container(key=f"number_{key}", gap=None):
        if labels:
            options = range(int(low), int(high) + 1)
            st.select_slider(
                parameter.title, options, format_func=lambda one: _text(one, labels), key=key, **common
            )
        else:
            st.slider(parameter.title, low, high, step=type(low)(step), key=key, **common)
        value, typed = st.session_state[key], f"typed_{key}"
        if (shown := st.session_state.get(typed)) != (text := _text(value, labels)):
            _replaced(key)[shown] = time.monotonic()
            st.session_state[typed] = text
        st.text_input(
            f"{parameter.title}: value",
            key=typed,
            max_chars=DIGITS,
            label_visibility="collapsed",
            autocomplete="off",
            on_change=_take,
            args=(parameter, labels, key),
        )
        at, note = st.session_state.get(f"note_{key}", (None, ""))
        if note and at == value:
            st.caption(f":orange[{note}]")


def _take(parameter: Parameter, labels: Mapping[int, str], key: str) -> None:
    """Set the slider to what was typed: a number, or a label. One out of bounds becomes the bound, with a note."""
    text = st.session_state[f"typed_{key}"]
    if time.monotonic() - _replaced(key).get(text, float("-inf")) < SETTLING:
        return  # a slider that is moved on makes the browser tell what was in the field before
    text = text.strip().casefold()
    low, high = _bounds(parameter)
    number = next((value for value, label in labels.items() if label.casefold() == text), None)
    if number is None:
        number = _number(text, whole=parameter.type == "integer")
    note = ""
    if number is None:
        number = st.session_state[key]
        names = "".join(f", or {label}" for label in labels.values())
        note = f"Type a {'whole ' if parameter.type == 'integer' else ''}number{names}."
    elif number > high:
        number, note = high, f"At most {_text(high, labels)}."
    elif number < low:
        number, note = low, f"At least {_text(low, labels)}."
    st.session_state.setdefault(_TYPED, {})[key] = _Typed(number, st.session_state[key], time.monotonic())
    st.session_state[key] = number
    st.session_state[f"note_{key}"] = (number, note)


def _replaced(key: str) -> dict[str | None, float]:
    """When each text of the field was replaced by the slider's value, in seconds of the monotonic clock."""
    found: dict[str | None, float] = st.session_state.setdefault(f"replaced_{key}", {})
    return found


def _keep_typed(key: str) -> None:
    """Set the slider to the number that was just typed.

    A second number that is typed at once ends the script before it has drawn the slider, and the browser then tells
    the value that the slider had.
    """
    typed: _Typed | None = st.session_state.get(_TYPED, {}).get(key)
    if typed and st.session_state.get(key) == typed.before and time.monotonic() - typed.at < SETTLING:
        st.session_state[key] = typed.number


def forget_typed() -> None:
    """Call this where sliders are set from elsewhere."""
    st.session_state.pop(_TYPED, None)


def _number(text: str, *, whole: bool) -> int | float | None:
    try:
        return int(text.replace(",", "")) if whole else _finite(float(text.replace(",", ".")))
    except ValueError:
        return None


def _finite(number: float) -> float | None:
    return number if abs(number) < float("inf") else None


def _bounds(parameter: Parameter) -> tuple[Any, Any]:
    kind = int if parameter.type == "integer" else float
    return kind(parameter.minimum or 0), kind(parameter.maximum or 0)


def _text(value: float, labels: Mapping[int, str]) -> str:
    return labels.get(int(value), "") if value in labels else f"{value:.10g}"
