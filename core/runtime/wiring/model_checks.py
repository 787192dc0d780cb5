"""Check whether a chat model answers, by its server's list or a request of one token."""

import time
from contextlib import aclosing
from dataclasses import dataclass, replace

from cachetools import LRUCache

from core.adapters.models.model_http import host_of
from core.config.access import NO_ACCESS, Access
from core.errors import ChatFailed
from core.model import Message
from core.runtime.wiring.model_lists import listed_name, same_model, server_key
from core.runtime.wiring.model_servers import UNNAMED_MODEL, ModelServer
from core.runtime.wiring.models import Models

ANSWERED_SECONDS = 600.0
"""Seconds before an answering model is tried again, since each trial costs a token."""
_HELLO = (Message(role="user", content="Hello"),)


@dataclass(frozen=True, slots=True)
class CheckedModel:
    """A model that answers. `tried` describes the trial request, and is "" if the server lists the model."""

    server: ModelServer
    offered: tuple[str, ...]
    tried: str = ""


class ModelChecks:
    """Checks models, and remembers the models that answered."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._answered: LRUCache[tuple[str, ...], float] = LRUCache(256)

    async def check(self, access: Access = NO_ACCESS) -> CheckedModel | None:
        """Return the chat model after checking that it answers, or None without a server.

        A list is a hint: a name that is not on it is tried. If only the listed name answers, later questions use it.

        Raises:
            BadInput: when the visitor may not use their server here.
            ChatFailed: when the model does not answer.
        """
        servers = self._models.servers
        server = await servers.chat_server(access)
        if server is None:
            return None
        if server.file:
            return CheckedModel(server, server.offered)
        trouble = "does not list its models"
        try:
            offered = await servers.offered(server, fresh=True)
        except ChatFailed:
            offered = ()
        if offered:
            trouble = f"does not list {server.model}"
        listed = listed_name(server.model, offered)
        if listed and same_model(listed, server.model):
            return CheckedModel(server, offered)
        failure: ChatFailed | None = None
        for name in dict.fromkeys((server.model, *filter(None, (listed,)))):
            tried = replace(server, model=name)
            try:
                await self._try(tried)
            except ChatFailed as error:
                failure = failure or error
                continue
            if name != server.model:
                servers.use_name(server, name)
            words = f"{host_of(server.base_url)} {trouble}. A request of one token to {name} was answered"
            return CheckedModel(tried, offered, words)
        raise _no_model(server, offered, failure)

    async def _try(self, server: ModelServer) -> None:
        """Ask for one token. Raises `ChatFailed` if the model sends none."""
        key = (*server_key(server.base_url, server.api_key), server.model)
        if time.monotonic() - self._answered.get(key, -ANSWERED_SECONDS) < ANSWERED_SECONDS:
            return
        chat = self._models.chat_client(server)
        if chat is not None:
            async with aclosing(chat(_HELLO, max_tokens=1, temperature=0.0)) as reply:
                async for chunk in reply:
                    if not chunk.retry:
                        break
        self._answered[key] = time.monotonic()


def _no_model(server: ModelServer, offered: tuple[str, ...], failure: ChatFailed | None) -> ChatFailed:
    if failure is None:
        return ChatFailed(f"{host_of(server.base_url)} offers no model.", hint="Name one.")
    if server.model == UNNAMED_MODEL and not offered:
        said = failure.message.rstrip(".")
        return ChatFailed(
            f"{host_of(server.base_url)} offers no model, and answers none without a name: {said}.",
            hint=f"Name a model. {failure.hint}".strip(),
        )
    hint = f"{failure.hint} It offers {', '.join(offered[:8])}." if offered else failure.hint
    return ChatFailed(failure.message, hint=hint.strip())
