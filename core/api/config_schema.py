"""Values and the schema that they keep to: what `GET /config` publishes and `PUT /config` takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

Kind = Literal["integer", "number", "string", "boolean", "array", "object", "null"]

_NUMBERS = ("integer", "number")
_PYTHON: Mapping[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}
_NAMED = 10
"""Wrong keys that a message names."""


class ConfigArrayItem(BaseModel):
    """The type of an array's items: one for all of them. Arrays say what their own items are, however deep."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    type: Kind
    array_items: ConfigArrayItem | None = None

    @model_validator(mode="after")
    def _arrays_have_items(self) -> Self:
        if (self.type == "array") != (self.array_items is not None):
            raise ValueError("array_items belongs to arrays, and every array needs it")
        return self

    def allows(self, value: Any) -> bool:
        """Whether a value, and every item of it, has the type. A whole number is also a `number`; 1 is no boolean."""
        if not isinstance(value, _PYTHON[self.type]) or (isinstance(value, bool) and self.type != "boolean"):
            return False
        if self.array_items is None or not isinstance(value, list | tuple):
            return True
        return all(map(self.array_items.allows, value))


class ConfigParameter(ConfigArrayItem):
    """One knob: its type, whether a value must be given, the value without one, and the limits of both."""

    required: bool
    default: Any
    """Of a parameter that is not required it keeps to the parameter's rules; it is always one of `enum`'s."""
    description: str | None = None
    minimum: int | float | None = None
    """Of numbers alone, as is the maximum."""
    maximum: int | float | None = None
    enum: list[Any] | None = None
    """All values that the parameter may have."""

    @model_validator(mode="after")
    def _rules_are_consistent(self) -> Self:
        if self.type not in _NUMBERS and (self.minimum, self.maximum) != (None, None):
            raise ValueError("only integers and numbers have a minimum and a maximum")
        if self.minimum is not None and self.maximum is not None and self.maximum < self.minimum:
            raise ValueError("the maximum is below the minimum")
        if self.enum is not None and not all(
            super(ConfigParameter, self).allows(value) for value in self.enum
        ):
            raise ValueError(f"enum must list values of type {self.type}")
        if not self._listed(self.default):
            raise ValueError("the default is not one of enum's values")
        if not self.required and not self.allows(self.default):
            raise ValueError("the default breaks the parameter's own rules")
        return self

    def allows(self, value: Any) -> bool:
        """Whether a value has the type, is within the bounds and among the enum's."""
        if not super().allows(value) or not self._listed(value):
            return False
        least = -math.inf if self.minimum is None else self.minimum
        most = math.inf if self.maximum is None else self.maximum
        return self.type not in _NUMBERS or least <= value <= most

    def _listed(self, value: Any) -> bool:
        """Whether there is no enum, or the value is in it. Python takes True for 1, which JSON does not."""
        return self.enum is None or any(
            allowed == value and isinstance(allowed, bool) == isinstance(value, bool) for allowed in self.enum
        )


class ConfigPayload(BaseModel):
    """Values by name, such as `rank.top_k`, and a parameter for each of them."""

    model_config = ConfigDict(hide_input_in_errors=True)

    value: dict[str, Any]
    config_schema: dict[str, ConfigParameter]

    @model_validator(mode="after")
    def _one_parameter_a_value(self) -> Self:
        require_parameters(self.value, self.config_schema)
        return self


def require_parameters(value: Mapping[str, Any], schema: Mapping[str, ConfigParameter]) -> None:
    """Check values against their parameters.

    Raises:
        ValueError: when a value has no parameter or a parameter no value, or a value breaks the rules of its own.
    """
    if unmatched := sorted(value.keys() ^ schema.keys()):
        raise ValueError(
            f"value and config_schema must have the same keys, unlike {', '.join(unmatched[:_NAMED])}"
        )
    if wrong := [name for name, rules in schema.items() if not rules.allows(value[name])]:
        raise ValueError(f"values break the rules of their own schema: {', '.join(wrong[:_NAMED])}")
