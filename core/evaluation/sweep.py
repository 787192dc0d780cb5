"""The settings of a sweep: every combination of values of knobs, and their names."""

import itertools
import math
from collections.abc import Collection, Mapping
from typing import Any

from core.config.knob_changes import apply_changes, changes
from core.config.knobs import Knobs
from core.config.schema import nested, parameters
from core.errors import BadInput

SETTINGS_LIMIT = 10_000
DEFAULTS = "defaults"
"""The name of the setting that changes nothing."""
SWEPT = frozenset(("chunk", "rank"))
"""The groups of knobs that an experiment can change: those that work on documents in hand."""


def settings(swept: Mapping[str, Any], groups: Collection[str] = SWEPT) -> tuple[Knobs, ...]:
    """Every combination of the values, the last knob changing fastest.

    Args:
        swept: values by group and name, as in `{"rank": {"strategy": ["cosine", "bm25"], "top_k": 5}}`. A list holds
            several values to try. Knobs that are not named keep their defaults.
        groups: the groups of knobs that can be changed.

    Raises:
        BadInput: for an unknown or unsuitable knob, a value out of bounds, or too many combinations.
    """
    tried = {
        f"{group}.{name}": value if isinstance(value, list) else [value]
        for group, values in swept.items()
        for name, value in _table(group, values).items()
    }
    allowed = {parameter.path for parameter in parameters() if parameter.group in groups}
    if unknown := sorted(set(tried) - allowed):
        raise BadInput(
            f"{unknown[0]} is no setting that can be swept.",
            hint=f"Use the settings of {' and '.join(sorted(groups))}; docs/settings.md lists them.",
        )
    count = math.prod(map(len, tried.values()))
    if not 0 < count <= SETTINGS_LIMIT:
        raise BadInput(
            f"The sweep has {count:,} combinations; 1 to {SETTINGS_LIMIT:,} can be run.",
            hint="Try fewer values of a knob, or sweep one group first and keep its winner.",
        )
    combinations = itertools.product(*tried.values())
    return tuple(
        dict.fromkeys(Knobs.parse(nested(dict(zip(tried, values, strict=True)))) for values in combinations)
    )


def name_of(knobs: Knobs) -> str:
    """What differs from the product's defaults, in one line."""
    return " ".join(changes(Knobs(), knobs)) or DEFAULTS


def knobs_of(setting: str) -> Knobs:
    """The knobs that `name_of` named so; names of knobs that this version has no longer are left out."""
    return apply_changes(Knobs(), [] if setting == DEFAULTS else setting.split(" "), SWEPT).knobs


def _table(group: str, values: Any) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise BadInput(
            f"{group} is no group of settings.",
            hint='Write a table, as in: [rank] strategy = ["cosine", "bm25"].',
        )
    return values
