"""A slider with a field for its number. Both always show the same value, which is the slider's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import streamlit as st

from core.config.schema import Parameter

DIGITS = 10
"""The longest number of a field, in characters. Its unit is behind it."""
SETTLING = 2.0
"""Seconds after the slider was drawn in which the browser may still send its previous value."""
MOST_OPTIONS = 100
"""Most options of a slider with named values, because all are sent.

With more values it is a slider of numbers, named in its field only.
"""
WIDE_UNIT = 2
"""The longest unit that fits beside a field, in characters."""
_TYPED = "typed_numbers"


@dataclass(frozen=True, slots=True)
class _Typed:
    """A typed number, and the slider's previous value."""

    number: float
    before: float
    drawn: float | None = None
    """When the slider was last drawn with it, in seconds of the monotonic clock. None while it waits for that."""


def number_control(
    parameter: Parameter,
    step: float,
    labels: Mapping[int | str, str],
    *,
    key: str,
    label: str = "",
    **common: Any,
) -> None:
    """Draw the slider of a knob with bounds, and its field, which has the number with its unit.

    Nothing else may be in the container around them: the styles lay the field over the end of the slider.

    Args:
        parameter: the knob.
        step: the step of the slider. The field accepts values between steps too.
        labels: numbers with a special meaning, and their labels.
        key: the key of the slider. `_field_key` returns the field's key.
        label: the label of the slider, by default the knob's title.
        common: other arguments of the slider.
    """
    low, high = _bounds(parameter)
    label, unit = label or parameter.title, parameter.control.unit
    is_typed = _keep_typed(key)
    if labels and step == 1 and high - low <= MOST_OPTIONS:
        options = range(int(low), int(high) + 1)
        st.select_slider(label, options, format_func=parameter.value_text, key=key, **common)
    else:
        st.slider(label, low, high, step=type(low)(step), key=key, **common)
    if is_typed:
        _mark_drawn(key)
    value = st.session_state[key]
    text = parameter.value_text(value)
    if st.session_state.get(field := _field_key(key, unit), text) != text:
        st.session_state[f"fields_{key}"] = _fields(key) + 1
        field = _field_key(key, unit)
    st.session_state[f"shown_{key}"] = text
    st.text_input(
        f"{parameter.title}: value",
        text,
        key=field,
        max_chars=DIGITS + len(unit) + 1,
        label_visibility="collapsed",
        autocomplete="off",
        on_change=_take,
        args=(parameter, labels, key, field, common.get("on_change")),
    )
    noted_at, note = st.session_state.get(f"note_{key}", (None, ""))
    if note and noted_at == value:
        st.caption(f":orange[{note}]")


def _field_key(key: str, unit: str) -> str:
    """Return the key of the slider's field, by which the styles know its width.

    A slider that was moved gets a new field: a browser that has not drawn it yet sends the old field's text,
    which is not read any more.
    """
    return f"typed_{'wide_' if len(unit) > WIDE_UNIT else ''}{key}_{_fields(key)}"


def _fields(key: str) -> int:
    """How many fields of this slider were replaced."""
    redraws: int = st.session_state.get(f"fields_{key}", 0)
    return redraws


def _take(
    parameter: Parameter,
    labels: Mapping[int | str, str],
    key: str,
    field: str,
    moved: Callable[[], object] | None,
) -> None:
    """Set the slider to the typed number or label. A number out of bounds becomes the bound, with a note."""
    text = st.session_state[field]
    if field != _field_key(key, parameter.control.unit) or text == st.session_state[f"shown_{key}"]:
        return  # an interrupted browser repeats a value that nobody typed
    text = text.casefold().removesuffix(parameter.control.unit.casefold()).strip()
    low, high = _bounds(parameter)
    number: float | None = next(
        (int(value) for value, label in labels.items() if label.casefold() == text), None
    )
    if number is None:
        number = _number(text, whole=parameter.type == "integer")
    note = ""
    if number is None:
        number = st.session_state[key]
        names = "".join(f", or {label}" for label in labels.values())
        note = f"Type a {'whole ' if parameter.type == 'integer' else ''}number{names}."
    elif number > high:
        number, note = high, f"At most {parameter.value_text(high)}."
    elif number < low:
        number, note = low, f"At least {parameter.value_text(low)}."
    st.session_state.setdefault(_TYPED, {})[key] = _Typed(number, st.session_state[key])
    st.session_state[key] = number
    st.session_state[f"note_{key}"] = (number, note)
    if moved:
        moved()


def keep_typed() -> None:
    """Set the sliders to the numbers that were just typed. Call this before a callback reads all sliders.

    A click that ends the typing may come as a request of its own, with the sliders' previous values.
    """
    for key in st.session_state.get(_TYPED, {}):
        _keep_typed(key)


def _keep_typed(key: str) -> bool:
    """Set the slider to the number that was just typed, and return whether the browser has to see it.

    A second number, or a click, ends the script before it has drawn the slider, and the browser then sends the
    slider's previous value.
    """
    typed: _Typed | None = st.session_state.get(_TYPED, {}).get(key)
    if typed is None:
        return False
    waits = typed.drawn is None
    if st.session_state.get(key) == typed.before:
        waits = typed.drawn is None or monotonic() - typed.drawn < SETTLING
        if waits:
            st.session_state[key] = typed.number
    return waits


def _mark_drawn(key: str) -> None:
    """Note that a typed number is drawn now. A busy server may draw it long after it was typed."""
    typed: dict[str, _Typed] = st.session_state[_TYPED]
    typed[key] = replace(typed[key], drawn=monotonic())


def forget_typed(values: Mapping[str, object] | None = None) -> None:
    """Forget typed numbers. Call this when other code sets sliders, by their keys to `values`.

    A number that is set again is kept, as the browser may still send the value before it.
    """
    typed: dict[str, _Typed] = st.session_state.get(_TYPED, {})
    set_to = values or {}
    st.session_state[_TYPED] = {key: one for key, one in typed.items() if set_to.get(key) == one.number}


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
