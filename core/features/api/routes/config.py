"""The knobs as typed configuration: `GET /config` and `PUT /config`, from the same schema as the page's controls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from core.config.knobs import Knobs
from core.config.permissions import Action
from core.config.schema import Parameter, former_names, nested, parameters
from core.features.api.service import CallerOf, ServiceOf, SessionOf
from core.features.api.sessions import Endpoint, method_knobs
from core.features.api.strict_json import KnobsByName, Strict, StrictRoute, with_knobs
from core.serving.problems import Fault, Refusal, documented, faults

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
    """The type of all items of an array. Nested arrays have item types too."""

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
    """A knob with its type, default and limits."""

    required: bool
    default: Any
    """The value of a request without this parameter. It is one of `enum`, and follows the parameter's rules unless the parameter is required."""
    description: str | None = None
    minimum: int | float | None = None
    """For numbers only, as `maximum`."""
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


router = APIRouter(route_class=StrictRoute, tags=["configuration"])

MethodOf = Annotated[Endpoint | None, Query(description="Only for this way to ask.")]


class ConfigUpdate(Strict):
    """The body of `PUT /config`."""

    value: KnobsByName
    """The knobs that shall differ from their defaults, by name."""
    config_schema: dict[str, ConfigParameter] | None = None
    """As `GET /config` gives it, so that its reply can be sent back. It is optional, and checked where it is sent."""

    @model_validator(mode="after")
    def _keeps_to_its_schema(self) -> Self:
        if self.config_schema is not None:
            require_parameters(self.value, self.config_schema)
        return self


@router.get("/config", response_model_exclude_none=True, responses=documented(422))
async def get_config(session: SessionOf, service: ServiceOf, method: MethodOf = None) -> ConfigPayload:
    """Return the default settings of questions, and what may be set."""
    knobs = session.knobs_for(method) if method else session.knobs
    return config_payload(knobs, method_knobs(service.defaults, method))


@router.put("/config", response_model_exclude_none=True, responses=documented(403, 413, 422))
async def put_config(
    update: ConfigUpdate, session: SessionOf, service: ServiceOf, caller: CallerOf, method: MethodOf = None
) -> ConfigPayload:
    """Set the session's configuration, or without a session that of all callers who have none.

    With a method it is that method's alone. Without one, it is that of all, whatever they had of their own; where it
    has a default value, each method keeps its own default.
    """
    if session is service.own:
        caller.require(Action.SET_DEFAULTS)
    defaults = method_knobs(service.defaults, method)
    knobs = knobs_of(update.value, defaults)
    if method:
        session.methods[method] = knobs
    else:
        session.knobs, session.methods = knobs, {}
    return config_payload(knobs, defaults)


def config_payload(knobs: Knobs, defaults: Knobs) -> ConfigPayload:
    """The knobs as configuration, with the default of each."""
    values, usual = knobs.to_json(), defaults.to_json()
    return ConfigPayload(
        value={knob.path: values[knob.group][knob.name] for knob in parameters()},
        config_schema={
            knob.path: config_parameter(knob, usual[knob.group][knob.name]) for knob in parameters()
        },
    )


def config_parameter(knob: Parameter, default: Any) -> ConfigParameter:
    """A knob as the configuration's schema has it."""
    return ConfigParameter.model_validate(
        {
            "type": knob.type,
            "required": False,
            "default": default,
            "description": knob.description,
            "array_items": {"type": knob.items} if knob.items else None,
            "minimum": knob.minimum,
            "maximum": knob.maximum,
            "enum": list(knob.enum) or None,
        }
    )


def knobs_of(value: Mapping[str, Any], defaults: Knobs) -> Knobs:
    """The defaults with values by name in their place.

    Raises:
        Refusal: naming every wrong field.
    """
    names = {knob.path for knob in parameters()}
    wrong = [
        Fault(
            field=f"value.{name}",
            message=f"It is called {former_names()[name]} now."
            if name in former_names()
            else "There is no such parameter.",
        )
        for name in value
        if name not in names
    ]
    knobs = defaults
    try:
        knobs = with_knobs(
            defaults, nested({name: knob_value for name, knob_value in value.items() if name in names})
        )
    except ValidationError as error:
        wrong += [
            Fault(field=f"value.{fault.field}", message=fault.message) for fault in faults(error.errors())
        ]
    if wrong:
        fields = ", ".join(fault.field for fault in wrong)
        raise Refusal(422, f"The configuration cannot be used: {fields}.", errors=wrong)
    return knobs
