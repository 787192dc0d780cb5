"""The knobs as data: one `Parameter` a field, for controls, flags and the published configuration."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from pydantic import AliasChoices

from core.config.knob_control import PLAIN, Control
from core.config.knobs import KNOBS, Knobs, RankKnobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """The description of a knob: its group, meaning and bounds. `type` is a JSON Schema type name."""

    group: str
    name: str
    title: str
    description: str
    type: str
    default: Any
    minimum: float | None = None
    maximum: float | None = None
    enum: tuple[str, ...] = ()
    items: str = ""
    """The type of an array's items."""
    longest: int | None = None
    """The most characters of a text."""
    control: Control = PLAIN
    """How it is offered."""

    @property
    def step(self) -> float:
        """The step of a number."""
        return self.control.step or (1 if self.type == "integer" else 0.1)

    @property
    def title_with_unit(self) -> str:
        """The title of a control that has no room for the unit behind its number."""
        return f"{self.title} ({self.control.unit})" if self.control.unit else self.title

    def value_text(self, value: Any, *, unit: bool = True) -> str:
        """Return a value as it is shown: its label, or the number, by default with its unit."""
        if isinstance(value, bool):
            return "on" if value else "off"
        if isinstance(value, int | float):
            if label := self.control.labels.get(int(value)) if value == int(value) else None:
                return label
            return f"{value:.10g} {self.control.unit if unit else ''}".strip()
        if isinstance(value, list | tuple):
            return ", ".join(map(str, value)) or "none"
        return self.control.labels.get(str(value), str(value)) or "any"

    @property
    def path(self) -> str:
        """Group and name of the knob, such as `rank.top_k`."""
        return f"{self.group}.{self.name}"


@functools.cache
def parameters() -> tuple[Parameter, ...]:
    """Every knob of every group, in the order in which they are written in `core.config.knobs`."""
    schema = KNOBS.json_schema()
    kinds = schema["$defs"]
    defaults = Knobs()
    return tuple(
        _parameter(group, name, field, kinds, getattr(defaults, group))
        for group, entry in schema["properties"].items()
        for name, field in _resolved(entry, kinds)["properties"].items()
    )


def ordering_knobs(knobs: RankKnobs) -> RankKnobs:
    """Return the knobs that decide the order of passages, all others at their defaults."""
    names = (knob.name for knob in parameters() if knob.group == "rank" and knob.control.orders)
    return RankKnobs(**{name: getattr(knobs, name) for name in names})


@functools.cache
def former_names() -> Mapping[str, str]:
    """Paths of knobs in earlier versions, such as `read.quiet`, with the current path of each."""
    former: dict[str, str] = {}
    for group in fields(Knobs):
        for name, field in type(getattr(Knobs(), group.name)).__pydantic_fields__.items():
            if isinstance(names := field.validation_alias, AliasChoices):
                former |= {
                    f"{group.name}.{old}": f"{group.name}.{name}" for old in names.choices if old != name
                }
    return MappingProxyType(former)


def nested(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """`{"rank.top_k": 3}` as `{"rank": {"top_k": 3}}`, the form that `Knobs.parse` takes."""
    groups: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        group, _, name = path.partition(".")
        groups.setdefault(group, {})[name] = value
    return groups


def _parameter(
    group: str, name: str, field: Mapping[str, Any], kinds: Mapping[str, Any], defaults: Any
) -> Parameter:
    kind = _resolved(field, kinds)
    declared = type(defaults).__pydantic_fields__[name].metadata
    return Parameter(
        group=group,
        name=name,
        title=field.get("title") or kind["title"],  # pydantic drops one that is also its type's name
        description=field["description"],
        type=kind["type"],
        default=getattr(defaults, name),
        minimum=field.get("minimum"),
        maximum=field.get("maximum"),
        enum=tuple(kind.get("enum", ())),
        items=kind.get("items", {}).get("type", ""),
        longest=field.get("maxLength"),
        control=next((part for part in declared if isinstance(part, Control)), PLAIN),
    )


def _resolved(entry: Mapping[str, Any], kinds: Mapping[str, Any]) -> Mapping[str, Any]:
    """The definition that an entry refers to, or the entry itself."""
    reference = entry.get("$ref") or next(
        (part["$ref"] for part in entry.get("allOf", ()) if "$ref" in part), ""
    )
    definition: Mapping[str, Any] = kinds[reference.rpartition("/")[2]] if reference else entry
    return definition
