"""Choose the chat client, embedder and reranker of a run. All runs of a process share the clients."""

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Unpack

import httpx
from cachetools import LRUCache

from core.adapters.cache.embedding_cache import CachedEmbed
from core.adapters.cache.write_behind_cache import WriteBehindCache
from core.adapters.models.local_embedder import MiniLM
from core.adapters.models.local_reranker import LocalReranker
from core.adapters.models.model_http import host_of, plain_key
from core.adapters.models.multilingual_embedder import MultilingualUSE
from core.adapters.models.openai_chat import OpenAIChat
from core.adapters.models.remote_embedder import RemoteEmbedder
from core.adapters.models.reranker import Reranker
from core.config.access import NO_ACCESS, Access
from core.config.egress import IN_PROCESS, EgressPolicy, described
from core.config.settings import LOCAL, Settings
from core.errors import ChatFailed
from core.model import Message, StreamChunk
from core.ports import ChatOptions, Rerank
from core.run.state import Run
from core.runtime.wiring.client_pool import ClientPool
from core.runtime.wiring.model_servers import LOCAL_EMBEDDER, ModelServer, ModelServers

CHAT_CLIENTS = 64
"""The most pooled chat clients, each for a server, key and model."""

EMBEDDERS = 8
"""The most embedders in memory, each for a model, server and key. Each keeps up to 40 MB of recent vectors."""


class SharedChat:
    """A `Chat` port over a pooled client. Runs refer to the port, so that the client can close after the last run."""

    def __init__(self, client: OpenAIChat) -> None:
        self.client = client
        self.identity, self.host, self.silence = client.identity, client.host, client.silence

    def __call__(
        self, messages: Sequence[Message], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[StreamChunk]:
        """Stream the reply of the client."""
        return self.client(messages, **options)


class Models:
    """The models of visitors' runs: the visitor's, the operator's, or built-in ones."""

    def __init__(
        self,
        settings: Settings,
        servers: ModelServers,
        egress: EgressPolicy,
        write_cache: WriteBehindCache,
        client: Callable[[], httpx.AsyncClient],
    ) -> None:
        """`client` returns the HTTP connection pool when a server is first asked."""
        self.servers = servers
        self._settings, self._egress = settings, egress
        self._write_cache, self._client = write_cache, client
        self._embedders: LRUCache[tuple[str, ...], CachedEmbed] = LRUCache(EMBEDDERS)
        self._chats = ClientPool[SharedChat](CHAT_CLIENTS)

    def chat_client(self, server: ModelServer | None) -> SharedChat | None:
        """Return the pooled chat client of a model server. None without a server."""
        if server is None:
            return None

        def connect() -> tuple[SharedChat, OpenAIChat]:
            timeout = self._settings.model_timeout
            hook = server.file.route if server.file else None
            client = OpenAIChat(server.model, server.base_url, server.api_key, timeout=timeout, hook=hook)
            return SharedChat(client), client

        return self._chats.get((server.base_url, plain_key(server.api_key), server.model), connect)

    async def embedding_model(self, access: Access, origins: Collection[str]) -> tuple[ModelServer, str]:
        """Return the embedding model for texts of these origins, and why it replaces another.

        If the egress policy withholds a text from the chosen model, the local model is used. Raises the errors of
        `ModelServers.embedding_server`, and BadInput if the policy refuses.
        """
        chosen = await self.servers.embedding_server(access)
        host = host_of(chosen.base_url) if chosen.base_url else IN_PROCESS
        if withheld := self._egress.withheld(host, origins):
            note = (
                f"{described(withheld)} is embedded by the local model: {chosen.model} at {host} is hosted."
            )
            return LOCAL_EMBEDDER, note
        return chosen, ""

    async def embedder(self, access: Access = NO_ACCESS, origins: Collection[str] = ()) -> CachedEmbed:
        """Return the embedder for these origins, with the vector cache. Raises the errors of `embedding_model`."""
        chosen, _ = await self.embedding_model(access, origins)
        name = (chosen.model, chosen.base_url, plain_key(chosen.api_key))
        if (embedder := self._embedders.get(name)) is None:
            client = chosen.file.client if chosen.file else self._client()
            inner = (
                RemoteEmbedder(chosen.model, chosen.base_url, chosen.api_key, client=client)
                if chosen.base_url
                else MiniLM()
            )
            embedder = self._embedders[name] = CachedEmbed(inner, self._write_cache)
        return embedder

    def multilingual_for(self, embedder: CachedEmbed) -> CachedEmbed | None:
        """Return the multilingual embedder for the local one, or None.

        It is used if questions and pages are in different languages.
        """
        return self.multilingual if isinstance(embedder.embed, MiniLM) else None

    @cached_property
    def multilingual(self) -> CachedEmbed:
        """The multilingual embedder, which is loaded on first use."""
        return CachedEmbed(MultilingualUSE(), self._write_cache)

    async def judge_client(self, run: Run, access: Access) -> SharedChat | None:
        """Return the chat model that judges a run's answer. None if no model is connected.

        Raises:
            BadInput: also when the egress policy withholds a source from it.
        """
        chat = self.chat_client(await self.servers.chat_server(access))
        if chat:
            self._egress.require(chat.identity, chat.host, run.origins)
        return chat

    def reranker(self) -> Rerank | None:
        """Return the operator's reranking model, or None."""
        if self._settings.rerank_model == LOCAL and not self._settings.rerank_url:
            return self._local_reranker
        return self._reranker if self._settings.rerank_url or self.servers.reranking_file() else None

    @cached_property
    def _local_reranker(self) -> LocalReranker:
        return LocalReranker()

    @cached_property
    def _reranker(self) -> Reranker:
        settings = self._settings
        if file := self.servers.reranking_file():
            return Reranker(
                f"{file.base_url}/rerank",
                file.model,
                file.api_key,
                timeout=settings.model_timeout,
                client=file.client,
            )
        return Reranker(
            settings.rerank_url,
            settings.rerank_model,
            settings.rerank_key,
            timeout=settings.model_timeout,
            client=self._client(),
        )

    async def warm(self) -> None:
        """Load the local embedder, and prepare the operator's chat client.

        The client is skipped if its server must be asked for models.
        """
        settings = self._settings
        if settings.embedding_model == LOCAL:
            await (await self.embedder()).warm()
        key = settings.openrouter_api_key or settings.openai_api_key
        is_known = settings.chat_model if settings.base_url else key
        if is_known and (chat := self.chat_client(await self.servers.chat_server(NO_ACCESS))):
            with suppress(ChatFailed):  # the first question reports the error
                await chat.client.warm()

    async def aclose(self) -> None:
        """Close chat clients and local models, and end model file processes."""
        await self._chats.aclose()
        await self.servers.aclose()
        loaded = [self.multilingual] if "multilingual" in vars(self) else []
        for embedder in (*self._embedders.values(), *loaded):
            if isinstance(embedder.embed, MiniLM | MultilingualUSE):
                embedder.embed.close()
        self._embedders.clear()
        if "_local_reranker" in vars(self):
            await self._local_reranker.aclose()
