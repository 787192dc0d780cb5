"""Knobs as changes to other knobs: by name, and written `group.name:value` in addresses and lines of the history."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from core.config.knobs import Knobs
from core.config.schema import Parameter, former_names, nested, parameters
from core.errors import BadInput

SHOWN_CHARACTERS = 60
"""The most characters of an ignored change that its message repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedChanges:
    """The knobs after the changes that can be applied, and a message for each that cannot."""

    knobs: Knobs
    ignored: tuple[str, ...] = ()


def changes(original: Knobs, changed: Knobs) -> tuple[str, ...]:
    """Return every knob that differs from the original's. A list is one change per item, and an empty list has no value."""
    change_texts: list[str] = []
    for parameter in parameters():
        value = _value(changed, parameter)
        if value != _value(original, parameter):
            items = (value,) if not parameter.items else value or ("",)
            change_texts += [f"{parameter.path}:{getattr(item, 'value', item)}" for item in items]
    return tuple(change_texts)


def apply_changes(original: Knobs, written_changes: Iterable[str], groups: Collection[str]) -> AppliedChanges:
    """Return the original with changes in the form of `changes`, of these groups only. A bad change does not affect others."""
    parameters_by_path = {parameter.path: parameter for parameter in parameters()}
    ignored: list[str] = []
    values: dict[str, Any] = {}
    for change in written_changes:
        path, colon, value = change.partition(":")
        path = former_names().get(path, path)
        if not colon or path not in parameters_by_path:
            ignored.append(f"{_shortened(change)} (no such setting)")
        elif parameters_by_path[path].group not in groups:
            ignored.append(f"{_shortened(change)} (applies to the next run only)")
        elif parameters_by_path[path].items:
            values.setdefault(path, []).extend([value] if value else [])
        else:
            values[path] = value
    knobs = original
    for path, value in values.items():
        parameter = parameters_by_path[path]
        try:
            parsed = _value(Knobs.parse(nested({path: value})), parameter)
        except BadInput:
            ignored.append(f"{_shortened(f'{path}:{value}')} ({allowed(parameter)})")
        else:
            knobs = replace(
                knobs,
                **{parameter.group: replace(getattr(knobs, parameter.group), **{parameter.name: parsed})},
            )
    return AppliedChanges(knobs=knobs, ignored=tuple(ignored))


def knob_values(knobs: Knobs) -> dict[str, Any]:
    """Every knob's value by its path, such as `rank.top_k`."""
    return {parameter.path: _value(knobs, parameter) for parameter in parameters()}


def with_values(knobs: Knobs, values: Mapping[str, Any], groups: Collection[str] = ()) -> Knobs:
    """The knobs with other values, each by the knob's name or path: `top_k` or `rank.top_k`.

    Raises:
        BadInput: for an unknown knob, a knob of another group, or a value out of bounds.
    """
    by_name = {name: parameter for parameter in parameters() for name in (parameter.name, parameter.path)}
    for name in values:
        if current := former_names().get(name):
            raise BadInput(f"The setting {name} has another name.", hint=f"It is called {current} now.")
        if name not in by_name:
            near = get_close_matches(name, by_name, 3)
            raise BadInput(
                f"There is no setting {_shortened(name)}.",
                hint=f"Did you mean {' or '.join(near)}?"
                if near
                else "docs/settings.md and the sidebar list all.",
            )
        if groups and by_name[name].group not in groups:
            raise BadInput(
                f"The setting {name} applies to the next run only.", hint="Ask the question again."
            )
    changed = {by_name[name].path: value for name, value in values.items()}
    return Knobs.parse(nested(knob_values(knobs) | changed))


def allowed(parameter: Parameter) -> str:
    """The values of a knob in words."""
    if parameter.enum:
        return f"must be {' or '.join(value or 'empty' for value in parameter.enum)}"
    if parameter.type == "boolean":
        return "must be true or false"
    if parameter.minimum is not None and parameter.maximum is not None:
        return f"must be {parameter.minimum:g} to {parameter.maximum:g}"
    return "not allowed"


def _value(knobs: Knobs, parameter: Parameter) -> Any:
    return getattr(getattr(knobs, parameter.group), parameter.name)


def _shortened(change: str) -> str:
    return change if len(change) <= SHOWN_CHARACTERS else f"{change[:SHOWN_CHARACTERS]}…"
