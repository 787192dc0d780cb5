"""Lists of models by server and key, kept for a minute."""

import hashlib
import time

from cachetools import LRUCache
from pydantic import SecretStr

from core.adapters.models.model_http import plain_key
from core.adapters.models.openai_chat import list_models

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
