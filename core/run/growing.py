"""Mappings that grow in place while many events are folded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Growing(dict[_Key, _Value]):
    """A mapping that grows in place, because only its `Fold` holds it."""


def with_items(mapping: Mapping[_Key, _Value], more: Mapping[_Key, _Value]) -> Mapping[_Key, _Value]:
    """Return the mapping with the items of `more`. A `Growing` mapping is changed in place, any other is copied."""
    if isinstance(mapping, Growing):
        mapping.update(more)
        return mapping
    return {**mapping, **more}


def without_item(mapping: Mapping[_Key, _Value], key: _Key) -> Mapping[_Key, _Value]:
    """Return the mapping without a key. A `Growing` mapping is changed in place, any other is copied."""
    if key not in mapping:
        return mapping
    if isinstance(mapping, Growing):
        del mapping[key]
        return mapping
    return {name: value for name, value in mapping.items() if name != key}
