"""The choice of the chat model: the visitor's, the operator's, or one of a local Ollama."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pydantic import SecretStr

from core.adapters.models.openai_chat import list_local_models, list_models
from core.config.access import Access, Admission
from core.config.settings import OPENAI, OPENROUTER, Settings

DEFAULT_MODEL = {OPENROUTER: "openai/gpt-4o-mini", OPENAI: "gpt-4o-mini"}

MODEL_LIST_SECONDS = 30.0
"""How long the model list of a local Ollama is reused; by a question, unless it is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServer:
    """A chat model and its server. `offered` are the models that the server lists; empty when it was not asked."""

    base_url: str
    api_key: SecretStr | None
    model: str
    offered: tuple[str, ...] = ()


class ModelServers:
    """Chooses a model server, and lists its models."""

    def __init__(self, settings: Settings, admission: Admission) -> None:
        self._settings = settings
        self._admission = admission
        self._local_models: tuple[float, tuple[str, ...]] = (0.0, ())

    async def chosen(self, access: Access) -> ModelServer | None:
        """The chat model to use: the visitor's, else the operator's, else a local server that answers."""
        settings = self._settings
        if access.base_url or access.api_key:
            self._admission.model_server(access.base_url)
            base = access.base_url or settings.base_url or _server_of_key(access.api_key)
            own = access.api_key or (None if access.base_url else settings.openai_api_key)
            return await self._server(base, own, access.chat_model)
        model = access.chat_model or settings.chat_model
        if settings.base_url:
            key = settings.openai_api_key or settings.openrouter_api_key
            return await self._server(settings.base_url, key, model)
        if settings.openrouter_api_key:
            return await self._server(OPENROUTER, settings.openrouter_api_key, model)
        if settings.openai_api_key:
            return await self._server(OPENAI, settings.openai_api_key, model)
        if settings.ollama_url and (offered := await self._ollama_models()):
            base = f"{settings.ollama_url.rstrip('/')}/v1"
            return ModelServer(base_url=base, api_key=None, model=model or offered[0], offered=offered)
        return None

    async def _server(self, base_url: str, key: SecretStr | None, model: str) -> ModelServer:
        """A named server. Without a model name: the server's default model, else the first that it lists."""
        if model or (model := DEFAULT_MODEL.get(base_url, "")):
            return ModelServer(base_url=base_url, api_key=key, model=model)
        offered = await list_models(base_url, key)
        return ModelServer(
            base_url=base_url, api_key=key, model=offered[0] if offered else "", offered=offered
        )

    async def offered(self, server: ModelServer) -> tuple[str, ...]:
        """The models that the server lists.

        Raises:
            ChatFailed: when it cannot be asked.
        """
        return await list_models(server.base_url, server.api_key)

    def look_for_ollama(self) -> None:
        """Have the local Ollama asked again if it listed no model the last time: it may have started since."""
        if not self._local_models[1]:
            self._local_models = (0.0, ())

    async def _ollama_models(self) -> tuple[str, ...]:
        asked, offered = self._local_models
        if not asked or time.monotonic() - asked > MODEL_LIST_SECONDS:
            offered = await list_local_models(self._settings.ollama_url)
            self._local_models = (time.monotonic(), offered)
        return offered


def _server_of_key(key: SecretStr | None) -> str:
    """The server of a key that came without an address: keys of OpenRouter begin with sk-or-."""
    return OPENROUTER if key and key.get_secret_value().startswith("sk-or-") else OPENAI
