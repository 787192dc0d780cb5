"""Choose chat and embedding models: the visitor's, the operator's, or models of a local Ollama.

No provider's address is a default. A provider is asked only if its key or address was given.
"""

import time
from dataclasses import dataclass

from cachetools import LRUCache
from pydantic import SecretStr

from core.adapters.models.model_file import ModelFile, ModelUse, is_model_file
from core.adapters.models.model_http import host_of
from core.adapters.models.openai_chat import NoModelList, list_local_models
from core.config.access import NO_ACCESS, Access, AccessPolicy
from core.config.settings import LOCAL, OPENAI, OPENROUTER, Settings
from core.errors import BadInput, EmbedFailed
from core.runtime.wiring.model_lists import LIST_SECONDS, ModelLists

DEFAULT_MODEL = {OPENROUTER: "openai/gpt-4o-mini", OPENAI: "gpt-4o-mini"}

UNNAMED_MODEL = "default"
"""The model name for servers without a list. Servers of one model take any name."""

_NAMES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServer:
    """A model and its server. The address of the built-in embedder is empty.

    `offered` are the models that the server lists. It is empty if the server was not asked.
    """

    base_url: str
    api_key: SecretStr | None
    model: str
    offered: tuple[str, ...] = ()
    file: ModelFile | None = None
    """The model's file, if it is served from this machine."""


LOCAL_EMBEDDER = ModelServer(base_url="", api_key=None, model=LOCAL)


class ModelServers:
    """Chooses a model server, and lists its models."""

    def __init__(self, settings: Settings, access_policy: AccessPolicy) -> None:
        self._settings = settings
        self._access_policy = access_policy
        self._local_models: tuple[float, tuple[str, ...]] = (0.0, ())
        self._lists = ModelLists()
        self._names: LRUCache[tuple[str, str], str] = LRUCache(_NAMES)
        """Names that servers answer to, by server and requested name."""
        self._files: dict[ModelUse, ModelFile] = {}

    async def chat_server(self, access: Access, *, ask: bool = True) -> ModelServer | None:
        """Return the visitor's chat model, the operator's, or a local server's.

        Without `ask` no server is asked for its models, and the name may then be empty.

        Raises:
            BadInput: when the visitor may not use their server here, or their key does not tell which one it is for.
            ChatFailed: when a server must be asked for its models and does not answer.
        """
        model = access.chat_model or self._settings.chat_model
        if not (access.base_url or access.api_key) and (file := self._file_server(ModelUse.CHAT, model)):
            return file
        if named_server := self._named(access):
            own = access.base_url or access.api_key
            return await self._server(*named_server, access.chat_model if own else model, ask=ask)
        if offered := await self._ollama_models() if ask else self._local_models[1]:
            return ModelServer(
                base_url=self._ollama, api_key=None, model=model or offered[0], offered=offered
            )
        return None

    def is_chat_server_known(self, access: Access) -> bool:
        """Return whether `chat_server` would return a server, as far as is known without asking one.

        Any thread may call this. Raises `BadInput` like `chat_server`.
        """
        model = access.chat_model or self._settings.chat_model
        own = bool(access.base_url or access.api_key)
        is_file = not own and model == self._settings.chat_model and is_model_file(model)
        return is_file or self._named(access) is not None or bool(self._local_models[1])

    async def embedding_server(self, access: Access = NO_ACCESS) -> ModelServer:
        """Return the visitor's embedding model, or the operator's.

        The model is asked of the operator's embedding server, or of the chat model's server if no embedding server is
        set.

        Raises:
            BadInput: when the visitor may not use their server or this model here.
            EmbedFailed: when the model is not the local one, and no server is named.
        """
        settings = self._settings
        self._access_policy.check_embedder(access.embedding_model)
        model = access.embedding_model or settings.embedding_model
        if model == LOCAL:
            return LOCAL_EMBEDDER
        if file := self._file_server(ModelUse.EMBEDDING, model):
            return file
        if base := settings.embedding_base_url:
            return ModelServer(base_url=base, api_key=self._embedding_key(base), model=model)
        if named_server := self._named(access):
            return ModelServer(base_url=named_server[0], api_key=named_server[1], model=model)
        if self._local_models[1] or await self._ollama_models():
            return ModelServer(base_url=self._ollama, api_key=None, model=model)
        raise EmbedFailed(
            f"No server is set for the embedding model {model}.",
            hint="Set OPENQUERY_EMBEDDING_BASE_URL to its address, connect a model server, or set "
            f"OPENQUERY_EMBEDDING_MODEL to {LOCAL}.",
        )

    def reranking_file(self) -> ModelFile | None:
        """Return the file of the operator's reranking model, if it is a file."""
        server = self._file_server(ModelUse.RERANKING, self._settings.rerank_model)
        return server.file if server else None

    def _file_server(self, use: ModelUse, model: str) -> ModelServer | None:
        """Return the operator's model file, or None for any other model. A visitor cannot name a file of the server."""
        settings = self._settings
        operators = {
            ModelUse.CHAT: settings.chat_model,
            ModelUse.EMBEDDING: settings.embedding_model,
            ModelUse.RERANKING: settings.rerank_model,
        }
        if model != operators[use] or not is_model_file(model):
            return None
        if (file := self._files.get(use)) is None:
            file = self._files[use] = ModelFile(model, use)
        return ModelServer(
            base_url=file.base_url, api_key=file.api_key, model=file.model, offered=(file.model,), file=file
        )

    async def aclose(self) -> None:
        """End the processes of model files."""
        for file in self._files.values():
            await file.aclose()

    def _embedding_key(self, base_url: str) -> SecretStr | None:
        """Return the key for the operator's embedding server: its configured key, or a key for the same host."""
        settings = self._settings
        if settings.embedding_api_key:
            return settings.embedding_api_key
        keys = {OPENROUTER: settings.openrouter_api_key}
        if not settings.base_url:  # otherwise this key belongs to `base_url`
            keys[OPENAI] = settings.openai_api_key
        if chat := self._named(NO_ACCESS):
            keys |= [chat]
        host = host_of(base_url)
        return next((key for server, key in keys.items() if key and host_of(server) == host), None)

    def _named(self, access: Access) -> tuple[str, SecretStr | None] | None:
        """Return address and key of the named model server, or None.

        A server that the visitor names precedes the operator's.
        """
        settings = self._settings
        if access.base_url or access.api_key:
            self._access_policy.check_model_server(access.base_url)
            return access.base_url or settings.base_url or _server_of_key(access.api_key), access.api_key
        if settings.base_url:
            return settings.base_url, settings.openai_api_key or settings.openrouter_api_key
        if settings.openrouter_api_key:
            return OPENROUTER, settings.openrouter_api_key
        return (OPENAI, settings.openai_api_key) if settings.openai_api_key else None

    async def _server(self, base_url: str, key: SecretStr | None, model: str, *, ask: bool) -> ModelServer:
        """Return a named server. Without a model name, its default model is used, or the first that it lists."""
        if model or (model := DEFAULT_MODEL.get(base_url, "")):
            name = self._names.get((base_url, model), model)
            return ModelServer(base_url=base_url, api_key=key, model=name)
        if not ask:
            offered = self._lists.last_known(base_url, key)
            return ModelServer(base_url=base_url, api_key=key, model=offered[0] if offered else "")
        try:
            offered = await self._lists.offered(base_url, key)
        except NoModelList:
            offered = ()
        model = offered[0] if offered else UNNAMED_MODEL
        return ModelServer(base_url=base_url, api_key=key, model=model, offered=offered)

    async def offered(self, server: ModelServer, *, fresh: bool = False) -> tuple[str, ...]:
        """Return the models that the server lists.

        A model file is the only model of its server. `fresh` asks again within the minute.

        Raises:
            ChatFailed: when it cannot be asked, or has no list.
        """
        if server.file:
            return (server.model,)
        return await self._lists.offered(server.base_url, server.api_key, fresh=fresh)

    def use_name(self, server: ModelServer, name: str) -> None:
        """Use another name in later requests for this model. `name` is the name that the server answers to."""
        self._names[server.base_url, server.model] = name

    def look_for_ollama(self) -> None:
        """Ask the local Ollama again if it listed no model last time. It may have started since."""
        if not self._local_models[1]:
            self._local_models = (0.0, ())

    @property
    def _ollama(self) -> str:
        return f"{self._settings.ollama_url.rstrip('/')}/v1"

    async def _ollama_models(self) -> tuple[str, ...]:
        """Return the chat models of a local Ollama. Empty if it does not answer or is disabled."""
        last_asked, offered = self._local_models
        if self._settings.ollama_url and (not last_asked or time.monotonic() - last_asked > LIST_SECONDS):
            offered = await list_local_models(self._settings.ollama_url)
            self._local_models = (time.monotonic(), offered)
        return offered


def _server_of_key(key: SecretStr | None) -> str:
    """Return the server of a key given without an address.

    Keys of OpenRouter begin with sk-or-, keys of OpenAI with sk-.

    Raises:
        BadInput: for any other key.
    """
    value = key.get_secret_value() if key else ""
    if value.startswith("sk-or-"):
        return OPENROUTER
    if value.startswith("sk-") and not value.startswith("sk-ant-"):
        return OPENAI
    raise BadInput(
        "This key does not tell which server it is for.",
        hint="Enter the base URL of its server too: only keys of OpenAI (sk-…) and OpenRouter (sk-or-…) do without.",
    )
