"""The settings of a sweep: every combination of values of knobs, and their names."""

import math
import random
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

from core.config.knob_changes import apply_changes, changes, knob_values
from core.config.knobs import Knobs
from core.config.schema import nested, parameters
from core.errors import BadInput

SETTINGS_LIMIT = 10_000
PREFIX = ": "
"""What stands between the name of an experiment and that of its setting, where several are open together."""
DEFAULTS = "defaults"
_THE_DEFAULTS = "the defaults"
"""The name of the setting that changes nothing."""
SWEPT = frozenset(("chunk", "rank"))
"""The groups of knobs that an experiment can change: those that work on documents in hand."""


def settings(
    swept: Mapping[str, Any], groups: Collection[str] = SWEPT, *, sample: int = 0, grid: bool = False
) -> tuple[Knobs, ...]:
    """Every combination of the values, the last knob changing fastest; or a sample of them, the same each time, with the
    defaults where they are among them. What is left out is never built.

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
    """Sort settings: the defaults, then those that change one knob of them, then the others by their way of chunking.

    Without the defaults the first setting takes their place. A part of an experiment then tells what each knob does.
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
    """How many settings these values have in all. Raises BadInput as `settings`, but for no number of them."""
    return math.prod(map(len, _tried(swept, SWEPT).values()))


def _tried(swept: Mapping[str, Any], groups: Collection[str]) -> dict[str, list[Any]]:
    """The values to try of each knob, by its path; each is one that the knob can have."""
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
    """The values of the combination at this place of all."""
    values: dict[str, Any] = {}
    for path in reversed(tried):
        place, row = divmod(place, len(tried[path]))
        values[path] = tried[path][row]
    return values


def _defaults(tried: Mapping[str, Sequence[Any]]) -> list[int]:
    """The place of the combination of all defaults, if it is one."""
    place = 0
    for path, values in tried.items():
        default = default_of(path)
        if default not in values:
            return []
        place = place * len(values) + values.index(default)
    return [place]


def _thinned(tried: Mapping[str, list[Any]], most: int) -> dict[str, list[Any]]:
    """Fewer values, so that they have `most` combinations at most: the knob with the most loses those in the middle, and
    no knob its default."""
    thinned = {path: list(values) for path, values in tried.items()}
    while math.prod(map(len, thinned.values())) > most:
        values = max(thinned.values(), key=len)
        path = next(path for path, each in thinned.items() if each is values)
        others = [value for value in values if value != default_of(path)]
        values.remove(others[len(others) // 2])
    return thinned


def default_of(path: str) -> Any:
    """The default of a knob, by its path such as `rank.top_k`."""
    group, _, name = path.partition(".")
    return getattr(getattr(Knobs(), group), name)


def name_of(knobs: Knobs) -> str:
    """What differs from the product's defaults, in one line."""
    return " ".join(changes(Knobs(), knobs)) or DEFAULTS


def knobs_of(setting: str) -> Knobs:
    """The knobs that `name_of` named so, also after the name of an experiment; names of knobs that this version has no
    longer are left out."""
    setting = setting.rpartition(PREFIX)[2]
    return apply_changes(Knobs(), [] if setting == DEFAULTS else setting.split(" "), SWEPT).knobs


@lru_cache(maxsize=16_384)
def values_of(setting: str) -> Mapping[str, Any]:
    """Every knob's value by its path under the setting that `name_of` named so."""
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
    """What a setting changes, in the words of the controls: `ranking bm25, passage size 300`; or `the defaults`. The name
    of its experiment stands before them where the setting has it."""
    experiment, separator, own = setting.rpartition(PREFIX)
    defaults, knobs = knob_values(Knobs()), values_of(own)
    changed = [path for path, value in knobs.items() if value != defaults[path]]
    if own != DEFAULTS and not changed:
        return setting  # knobs of another version
    texts = ", ".join(f"{column(path)} {value_text(knobs[path])}" for path in changed)
    return f"{experiment}{separator}{texts or _THE_DEFAULTS}"


def is_plural(setting: str) -> bool:
    """Whether a verb after `words(setting)` is plural: the defaults beat, ranking bm25 beats."""
    return words(setting).endswith(_THE_DEFAULTS)


@cache
def column(path: str) -> str:
    """The heading of a knob's column: the title of its control in lower case, without its unit."""
    title = next(parameter.title for parameter in parameters() if parameter.path == path)
    return title.partition(" (")[0].lower()


def value_text(value: Any) -> str:
    """A value of a knob as it is shown: `on`, `off`, a name or a number."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return (
        f"{value:g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    )
