"""Names of models, compared as servers mean them: with tags, prefixes, suffixes and in any case."""

from collections.abc import Sequence

_ROUTES = frozenset(
    ("free", "nitro", "floor", "online", "extended", "thinking", "beta", "exacto", "cheapest", "fastest")
)
"""Suffixes by which a provider chooses where a model runs, and not which model it is."""
_DEFAULT_TAG = "latest"


def same_model(name: str, other: str) -> bool:
    """Whether two names are one model to its server: a default tag or a route is all that they differ by."""
    return _bare(name) == _bare(other)


def listed_name(name: str, offered: Sequence[str]) -> str:
    """Return the name under which a server lists a model, or "".

    The same name comes first, then the same but for a tag or route, then in another case, then without the prefix of a
    provider. A prefix counts only if one name alone matches.
    """
    if name in offered:
        return name
    if same := next((other for other in offered if same_model(name, other)), ""):
        return same
    folded = _bare(name).casefold()
    if same := next((other for other in offered if _bare(other).casefold() == folded), ""):
        return same
    last = folded.rpartition("/")[2]
    ends = [other for other in offered if _bare(other).casefold().rpartition("/")[2] == last]
    return ends[0] if len(ends) == 1 else ""


def _bare(name: str) -> str:
    """The name without a default tag and without a route."""
    bare, colon, suffix = name.strip().partition("@")[0].rpartition(":")
    return bare if colon and suffix.casefold() in {_DEFAULT_TAG, *_ROUTES} else name.strip().partition("@")[0]
