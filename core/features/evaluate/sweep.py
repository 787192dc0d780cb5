"""The settings of a sweep: every combination of knob values, and their names."""

import math
import random
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

from core.config.knob_changes import apply_changes, changes, knob_values
from core.config.knobs import Knobs
from core.config.schema import Parameter, nested, parameters
from core.errors import BadInput

SETTINGS_LIMIT = 10_000
PREFIX = ": "
"""Separator between the names of an experiment and its setting, if several are open together."""
DEFAULTS = "defaults"
_THE_DEFAULTS = "the defaults"
"""The name of the setting that changes nothing."""
SWEPT = frozenset(("chunk", "rank"))
"""The groups of knobs that an experiment can change: chunking and ranking of given documents."""


def settings(
    swept: Mapping[str, Any], groups: Collection[str] = SWEPT, *, sample: int = 0, grid: bool = False
) -> tuple[Knobs, ...]:
    """Return every combination of the values, or a sample. The last knob changes fastest.

    A sample is the same each time, and has the defaults if they are a combination. Other combinations are never built.

    Args:
        swept: values by group and name, as in `{"rank": {"strategy": ["cosine", "bm25"], "top_k": 5}}`. A list holds
            several values to try. Knobs that are not named keep their defaults.
        groups: the groups of knobs that can be changed.
        sample: how many combinations there are at most; 0: all of them.
        grid: whether a sample is every combination of fewer values, in place of a random one.

    Raises:
        BadInput: for an unknown or unsuitable knob, a value out of bounds, or too many combinations.
    """
    tried = _tried(swept, groups)
    if grid and sample:
        tried = _thinned(tried, sample)
    count, places = math.prod(map(len, tried.values())), _defaults(tried)
    if sample and sample < count:
        chosen = random.Random(0).sample(range(count), sample)  # noqa: S311 - no secret
        chosen = sorted({*chosen[: sample - len(places)], *places})
    elif not 0 < count <= SETTINGS_LIMIT:
        raise BadInput(
            f"The sweep has {count:,} combinations; 1 to {SETTINGS_LIMIT:,} can be run.",
            hint="Try fewer values of a knob, or sweep one group first and keep its winner.",
        )
    else:
        chosen = list(range(count))
    return tuple(dict.fromkeys(Knobs.parse(nested(_combination(tried, place))) for place in chosen))


def fewest_changes_first(tried: Sequence[Knobs]) -> tuple[Knobs, ...]:
    """Sort settings: defaults, then changes of one knob, then the others by chunking.

    Without the defaults the first setting replaces them. A part of an experiment then shows the effect of each knob.
    """
    if not tried:
        return ()
    baseline = Knobs() if Knobs() in tried else tried[0]
    chunkings = list(dict.fromkeys(knobs.chunk for knobs in tried))

    def order(knobs: Knobs) -> tuple[int, int]:
        count = len(changes(baseline, knobs))
        return min(count, 2), chunkings.index(knobs.chunk)

    return tuple(sorted(tried, key=order))


def combinations(swept: Mapping[str, Any]) -> int:
    """Return the number of settings of these values.

    Raises `BadInput` for a bad knob or value, but not for too many settings.
    """
    return math.prod(map(len, _tried(swept, SWEPT).values()))


def _tried(swept: Mapping[str, Any], groups: Collection[str]) -> dict[str, list[Any]]:
    """Return the values to try for each knob, by path."""
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
    for path, value in ((path, value) for path, values in tried.items() for value in values):
        Knobs.parse(nested({path: value}))
    return tried


def _combination(tried: dict[str, list[Any]], place: int) -> dict[str, Any]:
    """Return the values of the combination at this index."""
    values: dict[str, Any] = {}
    for path in reversed(tried):
        place, row = divmod(place, len(tried[path]))
        values[path] = tried[path][row]
    return values


def _defaults(tried: Mapping[str, Sequence[Any]]) -> list[int]:
    """Return the index of the combination of all defaults, if it exists."""
    place = 0
    for path, values in tried.items():
        default = default_of(path)
        if default not in values:
            return []
        place = place * len(values) + values.index(default)
    return [place]


def _thinned(tried: Mapping[str, list[Any]], most: int) -> dict[str, list[Any]]:
    """Remove values until at most `most` combinations are left.

    The knob with the most values loses those in the middle. Defaults stay.
    """
    thinned = {path: list(values) for path, values in tried.items()}
    while math.prod(map(len, thinned.values())) > most:
        values = max(thinned.values(), key=len)
        path = next(path for path, each in thinned.items() if each is values)
        others = [value for value in values if value != default_of(path)]
        values.remove(others[len(others) // 2])
    return thinned


def default_of(path: str) -> Any:
    """Return the default of a knob, by path."""
    group, _, name = path.partition(".")
    return getattr(getattr(Knobs(), group), name)


def name_of(knobs: Knobs) -> str:
    """Return the changes from the defaults, in one line."""
    return " ".join(changes(Knobs(), knobs)) or DEFAULTS


def knobs_of(setting: str) -> Knobs:
    """Return the knobs that `name_of` named.

    An experiment's name before it is ignored, and so are knobs that this version lacks.
    """
    setting = setting.rpartition(PREFIX)[2]
    return apply_changes(Knobs(), [] if setting == DEFAULTS else setting.split(" "), SWEPT).knobs


@lru_cache(maxsize=16_384)
def values_of(setting: str) -> Mapping[str, Any]:
    """Return every knob's value by path under a setting that `name_of` named."""
    return MappingProxyType(knob_values(knobs_of(setting)))


def _table(group: str, values: Any) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise BadInput(
            f"{group} is no group of settings.",
            hint='Write a table, as in: [rank] strategy = ["cosine", "bm25"].',
        )
    return values


@lru_cache(maxsize=4096)
def words(setting: str) -> str:
    """Return the changes of a setting with the names of the controls.

    For example `ranking BM25, passage size 300`, or `the defaults`. The name of its experiment comes first, if the
    setting has it.
    """
    experiment, separator, own = setting.rpartition(PREFIX)
    defaults, knobs = knob_values(Knobs()), values_of(own)
    changed = [path for path, value in knobs.items() if value != defaults[path]]
    if own != DEFAULTS and not changed:
        return setting  # knobs of another version
    texts = ", ".join(f"{column(path)} {value_text(path, knobs[path])}" for path in changed)
    return f"{experiment}{separator}{texts or _THE_DEFAULTS}"


def is_plural(setting: str) -> bool:
    """Return whether a verb after `words(setting)` is plural: the defaults beat, ranking BM25 beats."""
    return words(setting).endswith(_THE_DEFAULTS)


@cache
def _knob(path: str) -> Parameter:
    return next(parameter for parameter in parameters() if parameter.path == path)


def column(path: str) -> str:
    """Return the heading of a knob's column: its control's title in lower case."""
    return _knob(path).title.lower()


def value_text(path: str, value: Any) -> str:
    """Return a knob's value as its control shows it, without its unit."""
    return _knob(path).value_text(value, unit=False)
