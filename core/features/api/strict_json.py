"""Strict JSON bodies (RFC 8259): no NaN or infinity, no lone surrogates, bounded nesting."""

import codecs
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
    ValidationError,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from core.config.knobs import KNOBS, Knobs
from core.config.schema import former_names
from core.model import AnswerFrom
from core.serving.problems import Fault, Refusal
from core.text.questions import MOST_QUERIES, QUERY_LIMIT, QUESTION_LIMIT
from core.text.sanitize import is_visible

_Model = TypeVar("_Model", bound=BaseModel)


def _checked_visible(text: str) -> str:
    # Not a pattern: clients compile those of a schema, and some cannot compile a class with characters beyond U+FFFF.
    if not is_visible(text):
        raise PydanticCustomError("blank", "There is no text in it.")
    return text


Question = Annotated[
    str, StringConstraints(min_length=1, max_length=QUESTION_LIMIT), AfterValidator(_checked_visible)
]
Query = Annotated[
    str, StringConstraints(min_length=1, max_length=QUERY_LIMIT), AfterValidator(_checked_visible)
]
Queries = Annotated[
    tuple[Query, ...],
    Field(max_length=MOST_QUERIES, strict=False),  # JSON has no tuples
]
FromPagesOrSearch = Annotated[
    AnswerFrom | None,
    Field(
        strict=False,  # JSON has no enums
        description="What a follow-up in a session is answered from: the pages of earlier questions, a new search, or "
        "both. Null: from the pages where they cover it, else from both.",
    ),
]


class _StrictRequest(Request):
    async def json(self) -> Any:
        body = await self.body()
        return _integral(orjson.loads(body.removeprefix(codecs.BOM_UTF8)))


def _integral(value: Any) -> Any:
    """The same value with 1.0 as 1: JSON knows one kind of number, and fields that want a whole one get it."""
    match value:
        case float() if value.is_integer() and abs(value) < 2**53:
            return int(value)
        case dict():
            return {key: _integral(inner) for key, inner in value.items()}
        case list():
            return [_integral(inner) for inner in value]
        case _:
            return value


class StrictRoute(APIRoute):
    """A route that refuses unknown query parameters, and whose body is read by orjson.

    orjson refuses what Python's own reader lets pass.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of `APIRoute`, given a request that reads its body strictly."""
        handler = super().get_route_handler()
        known = list(_query_parameters(self.dependant))
        # Clients of OpenAI's API add some of their own, such as `api-version`.
        accepts_unknown = self.path.startswith("/v1/")

        async def strict(request: Request) -> Response:
            if not accepts_unknown and (unknown := sorted(set(request.query_params).difference(known))):
                raise _unknown_parameters(unknown, known)
            return await handler(_StrictRequest(request.scope, request.receive))

        return strict


def _query_parameters(dependant: Dependant) -> Iterator[str]:
    """Yield the names of a route's query parameters, and of what it depends on."""
    yield from (field.alias for field in dependant.query_params)
    for dependency in dependant.dependencies:
        yield from _query_parameters(dependency)


def _unknown_parameters(unknown: Sequence[str], known: Sequence[str]) -> Refusal:
    hint = f"There are {', '.join(known)}." if known else "There are none."
    faults = [Fault(field=name[:100], message="There is no such query parameter.") for name in unknown[:10]]
    return Refusal(422, "The request has unknown query parameters.", hint, errors=faults)


class Strict(BaseModel):
    """A body from a client. Unknown fields and numbers as strings are refused, and errors repeat no input."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )


def strict_knobs(values: Any) -> Knobs:
    """Knobs from JSON values by group, where a number is a number.

    Raises:
        ValidationError: naming every field that is unknown, of another type or out of bounds. One with a former name
            is told its current name.
    """
    renamed = [
        InitErrorDetails(
            type=PydanticCustomError("renamed", "It is called {name} now.", {"name": current}),
            loc=tuple(former.split(".")),
            input=None,
        )
        for former, current in former_names().items()
        if _has(values, *former.split("."))
    ]
    if renamed:
        raise ValidationError.from_exception_data("Knobs", renamed)
    return KNOBS.validate_json(orjson.dumps(values), strict=True)


def _has(values: Any, group: str, name: str) -> bool:
    return isinstance(values, Mapping) and isinstance(knobs := values.get(group), Mapping) and name in knobs


def copied(model: type[_Model], value: object, /, **other: Any) -> _Model:
    """Return a model with the attributes of `value` of the same names, and the others as given."""
    names = model.model_fields.keys() - other.keys()
    return model(**{name: getattr(value, name) for name in names if hasattr(value, name)}, **other)


class _SomeKnobs:
    """Some knobs, checked and published as `Knobs`, but stored as sent. Only these knobs are replaced."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_checked, handler(source))

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(KNOBS.core_schema)


class _ByName:
    """Published as an object of all knobs by name, such as `rank.top_k`; checked by `core.features.api.routes.config`."""

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        groups = handler.resolve_ref_schema(handler(KNOBS.core_schema))["properties"]
        knobs = {
            f"{group}.{name}": knob
            for group, entry in groups.items()
            for name, knob in handler.resolve_ref_schema(entry)["properties"].items()
        }
        return {"type": "object", "properties": knobs, "additionalProperties": False}


KnobsByName = Annotated[dict[str, Any], _ByName()]

SomeKnobs = Annotated[dict[str, dict[str, Any]], _SomeKnobs()]


def with_knobs(knobs: Knobs, some: Mapping[str, Mapping[str, Any]]) -> Knobs:
    """The knobs with some of them replaced."""
    return strict_knobs(
        {group: {**values, **some.get(group, {})} for group, values in knobs.to_json().items()}
    )


def _checked(values: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    strict_knobs(values)
    return values
