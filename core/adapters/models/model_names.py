"""Compare names of models as servers do: with tags, prefixes, suffixes and in any case."""

from collections.abc import Sequence

_ROUTES = frozenset(
    ("free", "nitro", "floor", "online", "extended", "thinking", "beta", "exacto", "cheapest", "fastest")
)
"""Suffixes that select where a model runs, but not the model."""
_DEFAULT_TAG = "latest"


def same_model(name: str, other: str) -> bool:
    """Check whether a server treats two names as one model. They may differ by a default tag or a route."""
    return _bare(name) == _bare(other)


def listed_name(name: str, offered: Sequence[str]) -> str:
    """Return the name under which a server lists a model, or "".

    An equal name is preferred, then a name that differs by tag or route, then by case, then by a provider's prefix. A
    prefix counts only if a single name matches.
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
    """Remove a default tag and a route."""
    bare, colon, suffix = name.strip().partition("@")[0].rpartition(":")
    return bare if colon and suffix.casefold() in {_DEFAULT_TAG, *_ROUTES} else name.strip().partition("@")[0]
