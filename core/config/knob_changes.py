"""Knobs as changes to other knobs, each written `group.name:value`: in addresses, and in lines of the history."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from core.config.knobs import Knobs
from core.config.schema import Parameter, nested, parameters
from core.errors import BadInput

SHOWN_CHARACTERS = 60
"""The most characters of an ignored change that its message repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedChanges:
    """The knobs after the changes that can be applied, and a message for each that cannot."""

    knobs: Knobs
    ignored: tuple[str, ...] = ()


def changes(original: Knobs, changed: Knobs) -> tuple[str, ...]:
    """Every knob that differs from the original's. A list is one change for each item; an empty one has no value."""
    found: list[str] = []
    for one in parameters():
        value = _value(changed, one)
        if value != _value(original, one):
            items = (value,) if not one.items else value or ("",)
            found += [f"{one.path}:{getattr(item, 'value', item)}" for item in items]
    return tuple(found)


def apply_changes(original: Knobs, written: Iterable[str], groups: Collection[str]) -> AppliedChanges:
    """The original with changes written as by `changes`, of these groups only. A bad one does not affect the others."""
    known = {one.path: one for one in parameters()}
    ignored: list[str] = []
    values: dict[str, Any] = {}
    for change in written:
        path, colon, value = change.partition(":")
        if not colon or path not in known:
            ignored.append(f"{_shortened(change)} (no such setting)")
        elif known[path].group not in groups:
            ignored.append(f"{_shortened(change)} (applies to the next run only)")
        elif known[path].items:
            values.setdefault(path, []).extend([value] if value else [])
        else:
            values[path] = value
    knobs = original
    for path, value in values.items():
        one = known[path]
        try:
            parsed = _value(Knobs.parse(nested({path: value})), one)
        except BadInput:
            ignored.append(f"{_shortened(f'{path}:{value}')} ({allowed(one)})")
        else:
            knobs = replace(knobs, **{one.group: replace(getattr(knobs, one.group), **{one.name: parsed})})
    return AppliedChanges(knobs=knobs, ignored=tuple(ignored))


def allowed(one: Parameter) -> str:
    """The values of a knob in words."""
    if one.enum:
        return f"must be {' or '.join(value or 'empty' for value in one.enum)}"
    if one.type == "boolean":
        return "must be true or false"
    if one.minimum is not None and one.maximum is not None:
        return f"must be {one.minimum:g} to {one.maximum:g}"
    return "not allowed"


def _value(knobs: Knobs, one: Parameter) -> Any:
    return getattr(getattr(knobs, one.group), one.name)


def _shortened(change: str) -> str:
    return change if len(change) <= SHOWN_CHARACTERS else f"{change[:SHOWN_CHARACTERS]}…"
