"""Lists of models by server and key, kept for a minute, and the names in them.

Names are compared as servers do: with tags, prefixes, suffixes and in any case.
"""

import hashlib
import time
from collections.abc import Sequence

from cachetools import LRUCache
from pydantic import SecretStr

from core.adapters.models.model_http import plain_key
from core.adapters.models.openai_chat import list_models

_ROUTES = frozenset(
    ("free", "nitro", "floor", "online", "extended", "thinking", "beta", "exacto", "cheapest", "fastest")
)
"""Suffixes that select where a model runs, but not the model."""
_DEFAULT_TAG = "latest"
LIST_SECONDS = 60.0
"""Seconds for which a server's list is used before the server is asked again."""
_SERVERS = 64


class ModelLists:
    """Model lists of servers. A key is kept as a digest."""

    def __init__(self) -> None:
        self._lists: LRUCache[tuple[str, str], tuple[float, tuple[str, ...]]] = LRUCache(_SERVERS)

    async def offered(self, base_url: str, key: SecretStr | None, *, fresh: bool = False) -> tuple[str, ...]:
        """Return the models that a server lists. `fresh` asks the server even if its list is cached.

        Raises:
            ChatFailed: when the server cannot be asked, or has no list.
        """
        name = server_key(base_url, key)
        asked, offered = self._lists.get(name, (0.0, ()))
        if fresh or not offered or time.monotonic() - asked > LIST_SECONDS:
            offered = await list_models(base_url, key)
            self._lists[name] = time.monotonic(), offered
        return offered

    def last_known(self, base_url: str, key: SecretStr | None) -> tuple[str, ...]:
        """Return the models that a server last listed, without asking."""
        return self._lists.get(server_key(base_url, key), (0.0, ()))[1]


def server_key(base_url: str, key: SecretStr | None) -> tuple[str, str]:
    """Return a cache key for a server without its secret."""
    return base_url, hashlib.sha256(plain_key(key).encode("utf-8", "replace")).hexdigest()


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
