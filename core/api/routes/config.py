"""The knobs as typed configuration: `GET /config` and `PUT /config`, from the same schema as the page's controls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from core.api.problems import Fault, Refusal, documented, faults
from core.api.service import ServiceOf, SessionOf, Token
from core.api.sessions import Method
from core.api.strict_json import KnobsByName, Strict, StrictRoute, plain, strict_knobs
from core.config.knobs import Knobs
from core.config.schema import Parameter, nested, parameters

router = APIRouter(route_class=StrictRoute, tags=["configuration"])

Kind = Literal["integer", "number", "string", "boolean", "array", "object", "null"]

_PYTHON: Mapping[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}


class Items(BaseModel):
    """What a value, or an array's item, may be.

    Arrays say what their items are, however deep; only numbers have bounds, and the upper is not below the lower.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    type: Kind
    array_items: Items | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    enum: list[Any] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.type == "array") != (self.array_items is not None):
            raise ValueError("array_items belongs to arrays, and every array needs it")
        if self.type not in ("integer", "number") and (self.minimum, self.maximum) != (None, None):
            raise ValueError("only numbers have a minimum and a maximum")
        if self.minimum is not None and self.maximum is not None and self.maximum < self.minimum:
            raise ValueError("the maximum is below the minimum")
        if self.enum is not None and (
            not self.enum or not all(self._is_of_type(value) for value in self.enum)
        ):
            raise ValueError(f"enum must list values of type {self.type}")
        return self

    def allows(self, value: Any) -> bool:
        """Whether a value has the type, is within the bounds and among the enum's."""
        if not self._is_of_type(value) or (self.enum is not None and value not in self.enum):
            return False
        if self.array_items is not None:
            return all(self.array_items.allows(item) for item in value)
        least = -math.inf if self.minimum is None else self.minimum
        most = math.inf if self.maximum is None else self.maximum
        return self.type not in ("integer", "number") or least <= value <= most

    def _is_of_type(self, value: Any) -> bool:
        return isinstance(value, _PYTHON[self.type]) and (
            self.type == "boolean" or not isinstance(value, bool)
        )


class ConfigParameter(Items):
    """One knob. A default keeps to the knob's own rules."""

    required: bool = False
    default: Any = None
    description: Annotated[str, Field(min_length=1)]

    @model_validator(mode="after")
    def _default_is_allowed(self) -> Self:
        if not self.required and not self.allows(self.default):
            raise ValueError("the default breaks the parameter's own rules")
        return self


class ConfigPayload(BaseModel):
    """Values and their schema, by the knobs' names, such as `rank.top_k`."""

    value: dict[str, Any]
    config_schema: dict[str, ConfigParameter]


MethodOf = Annotated[Method | None, Query(description="Only for this way to ask.")]


class ConfigUpdate(Strict):
    value: KnobsByName
    """The knobs that shall differ from their defaults, by name."""
    config_schema: Annotated[dict[str, Any], Field(default_factory=dict)]
    """Not looked at; so that what was got can be put back."""


@router.get("/config", response_model_exclude_none=True, responses=documented(422))
async def get_config(session: SessionOf, method: MethodOf = None) -> ConfigPayload:
    """What applies to questions that do not say otherwise, and what may be set."""
    return payload(session.knobs_for(method) if method else session.knobs)


@router.put("/config", response_model_exclude_none=True, responses=documented(413, 422))
async def put_config(
    update: ConfigUpdate,
    session: SessionOf,
    service: ServiceOf,
    token: Token = None,
    method: MethodOf = None,
) -> ConfigPayload:
    """Set the session's configuration, or without a session that of all callers who have none.

    With a method it is that method's alone; without one, it is that of all, whatever they had of their own.
    """
    if token is None and service.runs.settings.shared:
        raise Refusal(
            403,
            "This OpenQuery is shared, so its configuration is not for one caller to change.",
            "Open a session with POST /connect.",
        )
    knobs = knobs_of(update.value, service.runs.settings.knobs)
    if method:
        session.methods[method] = knobs
    else:
        session.knobs, session.methods = knobs, {}
    return payload(knobs)


def payload(knobs: Knobs) -> ConfigPayload:
    values = plain(knobs)
    return ConfigPayload(
        value={knob.path: values[knob.group][knob.name] for knob in parameters()},
        config_schema={knob.path: published(knob) for knob in parameters()},
    )


def published(knob: Parameter) -> ConfigParameter:
    return ConfigParameter.model_validate(
        {
            "type": knob.type,
            "default": list(knob.default) if isinstance(knob.default, tuple) else knob.default,
            "description": knob.description,
            "array_items": {"type": knob.items} if knob.items else None,
            "minimum": knob.minimum,
            "maximum": knob.maximum,
            "enum": list(knob.enum) or None,
        }
    )


def knobs_of(value: Mapping[str, Any], defaults: Mapping[str, Any]) -> Knobs:
    """Knobs from values by name. `defaults` are the operator's, by name too.

    Raises:
        Refusal: naming every wrong field.
    """
    names = {knob.path for knob in parameters()}
    wrong = [
        Fault(field=f"value.{name}", message="There is no such parameter.")
        for name in value
        if name not in names
    ]
    knobs = Knobs()
    try:
        knobs = strict_knobs(nested({**defaults, **{name: value[name] for name in value if name in names}}))
    except ValidationError as error:
        wrong += [
            Fault(field=f"value.{fault.field}", message=fault.message) for fault in faults(error.errors())
        ]
    if wrong:
        named = ", ".join(fault.field for fault in wrong)
        raise Refusal(422, f"The configuration cannot be used: {named}.", errors=wrong)
    return knobs
