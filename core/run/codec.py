"""Write events and runs as JSON, and read them. The reader rejects values that the writer cannot have written."""

import functools
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from core.errors import BadInput, StoreFailed
from core.model import array_to_json
from core.run import events as e
from core.run.state import Run
from core.run.upgrades import upgrade
from core.text.sanitize import json_without_surrogates

FORMAT, FORMAT_VERSION = "openquery-run", 6
"""Name and version of the export format. The version rises when older readers cannot read the new form."""

READABLE_VERSIONS = (4, 5, FORMAT_VERSION)

NOT_EXPORTED = frozenset({"before"})
"""Fields of a run that an export leaves out."""
DERIVED = "notices"
"""The field that an export adds. A reader ignores it, since it derives the value itself."""

_EVENTS: dict[str, Any] = {kind.__name__: kind for kind in get_args(e.Event)}
_WITH_ARRAYS = (e.Embedded, e.Indexed, e.Ranked)
"""Events that orjson writes.

For long texts it takes a third of pydantic's time, for small dataclasses twice the time.
"""


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def event_to_json(event: e.Event) -> bytes:
    """Return an event as UTF-8 JSON: `{"event": <name>, …fields}`.

    Lone surrogates, which UTF-8 cannot encode, become �.

    Raises:
        StoreFailed: when a value in it cannot be written as JSON.
    """
    name = type(event).__name__
    if not isinstance(event, _WITH_ARRAYS):
        with suppress(PydanticSerializationError):  # a lone surrogate
            fields = _adapter(_EVENTS[name]).dump_json(event)
            return b'{"event":"%b"%b%b' % (
                name.encode(),
                b"," if len(fields) > len(b"{}") else b"",
                fields[1:],
            )
    return _dumped({"event": name, **{field: getattr(event, field) for field in event.__dataclass_fields__}})


def event_from_json(data: bytes) -> e.Event:
    """Return the event from current or earlier JSON.

    Raises:
        StoreFailed: when the bytes are not such an event.
    """
    try:
        fields = upgrade(orjson.loads(data))
        event: e.Event = _adapter(_EVENTS[fields.pop("event")]).validate_python(fields)
    except (orjson.JSONDecodeError, KeyError, AttributeError, TypeError, ValueError) as error:
        raise StoreFailed(
            "A stored event cannot be read.", hint="It may come from another version."
        ) from error
    return event


def event_from_fields(fields: Any, context: Mapping[str, Any]) -> e.Event:
    """Return the event of parsed, untrusted JSON. Values are not converted.

    Raises:
        BadInput: when it is no event, with the name of the field.
    """
    try:
        fields = upgrade(fields)
        name = fields.pop("event")
        kind = _EVENTS[name]
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise BadInput("An event cannot be read: its kind is not known.") from error
    try:
        event: e.Event = _adapter(kind).validate_json(orjson.dumps(fields), strict=True, context=context)
    except ValidationError as error:
        raise BadInput(f"An event cannot be read: {name}.{where_wrong(error)}.") from error
    except (orjson.JSONEncodeError, KeyError, TypeError, ValueError) as error:  # an array
        raise BadInput(f"An event cannot be read: {name} has an array of another form.") from error
    return event


def where_wrong(error: ValidationError, *names: str) -> str:
    """Describe the first invalid field, below `names`. Its content is not repeated."""
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, (*names, *fault['loc'])))}: {fault['msg']}"


def without_vectors(event: e.Event) -> e.Event:
    """Return the event without embedding vectors, which are most of its size."""
    match event:
        case e.Indexed(index=index):
            return e.Indexed(replace(index, vectors=None, question=None))
        case e.Embedded():
            return replace(event, rows=None, vectors=None)
        case _:
            return event


def run_to_json(run: Run, *, vectors: bool = False) -> bytes:
    """Return the whole run as JSON for export. `vectors`: include the embedding vectors, which are most of its size."""
    if not vectors and run.index is not None:
        run = replace(run, index=replace(run.index, vectors=None, question=None))
    fields = {"format": FORMAT, "version": FORMAT_VERSION}
    fields |= {name: getattr(run, name) for name in run.__dataclass_fields__ if name not in NOT_EXPORTED}
    if run.client is None:
        del fields["client"]  # readers before chat clients refuse a field that they do not know
    fields["replies"] = [{"query": q, "reply": r} for q, r in run.replies.items()]
    fields["search_faults"] = list(run.search_faults.values())
    fields["pages"] = list(run.pages.values())
    fields["skips"] = list(run.skips.values())
    fields["sources"] = run.sources
    fields[DERIVED] = run.notices
    return _dumped(fields, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)


def _dumped(value: dict[str, Any], option: int = 0) -> bytes:
    try:
        # orjson reads dataclasses and arrays itself, without a copy as dicts and lists.
        return orjson.dumps(value, default=_to_json, option=option)
    except orjson.JSONEncodeError:
        try:
            plain = _adapter(Any).dump_python(value, mode="json", fallback=_to_json)
            return orjson.dumps(json_without_surrogates(plain), option=option)
        except (orjson.JSONEncodeError, PydanticSerializationError, TypeError) as error:
            raise StoreFailed(f"An event cannot be stored: {error}.") from error


def _to_json(value: Any) -> Any:
    """Convert a value of a type that orjson does not know."""
    if isinstance(value, np.ndarray):
        return array_to_json(value)
    if isinstance(value, frozenset):
        return list(value)
    raise TypeError(f"a value of type {type(value).__name__} has no form in JSON")
