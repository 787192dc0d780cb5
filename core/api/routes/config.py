"""The knobs as typed configuration: `GET /config` and `PUT /config`, from the same schema as the page's controls."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from fastapi import APIRouter, Query
from pydantic import ValidationError, model_validator

from core.api.config_schema import ConfigParameter, ConfigPayload, require_parameters
from core.api.problems import Fault, Refusal, documented, faults
from core.api.service import CallerOf, ServiceOf, SessionOf
from core.api.sessions import Method, method_knobs
from core.api.strict_json import KnobsByName, Strict, StrictRoute, plain, with_knobs
from core.config.knobs import Knobs
from core.config.permissions import Action
from core.config.schema import Parameter, nested, parameters

router = APIRouter(route_class=StrictRoute, tags=["configuration"])

MethodOf = Annotated[Method | None, Query(description="Only for this way to ask.")]


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
    """What applies to questions that do not say otherwise, and what may be set."""
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
    values, usual = plain(knobs), plain(defaults)
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
        Fault(field=f"value.{name}", message="There is no such parameter.")
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
