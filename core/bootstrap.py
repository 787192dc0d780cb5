"""Settings become ports: the only place where adapters are chosen and wired."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import httpx
from pydantic import SecretStr

from core.adapters.address import Holes
from core.adapters.auto_search import FirstThatWorks
from core.adapters.behind import Behind
from core.adapters.cache import Cache
from core.adapters.cached_embed import CachedEmbed
from core.adapters.ddgs_search import Ddgs
from core.adapters.demo_search import DemoSearch
from core.adapters.demo_web import DemoWeb, RoutedWeb
from core.adapters.local_embedder import MiniLM
from core.adapters.openai_chat import OpenAIChat, models, ollama
from core.adapters.qdrant_edge import EdgeCollections
from core.adapters.qdrant_server import ServerCollections
from core.adapters.remembered import CachedExtract, CachedWeb
from core.adapters.remote_embedder import RemoteEmbedder
from core.adapters.reranker import Reranker
from core.adapters.searxng import SearxNG
from core.adapters.vector_database import collections
from core.adapters.web import SafeWeb
from core.adapters.workers import Workers
from core.errors import BadInput, ChatFailed, SearchFailed
from core.knobs import Backend, Knobs, Origin, SearchKnobs
from core.library.recall import LibraryExtract, LibrarySearch, LibraryWeb, Shelf, WebAndLibrary
from core.logs import protect
from core.ports import Chat, Embed, Ports, Rerank, Search
from core.settings import HANDBOOK, LOCAL, OPENAI, OPENROUTER, Settings

if TYPE_CHECKING:
    from core.library.library import Library

DEFAULT_MODEL = {OPENROUTER: "openai/gpt-4o-mini", OPENAI: "gpt-4o-mini"}

CHATS_KEPT = 64
"""Chat clients, one for each key and model, of which the oldest are dropped."""

VISITED_KEPT = 64
"""Clients of visitors' own Qdrant servers."""

LOOK_AGAIN = 30.0
"""Seconds for which the answer of a local model server to "which models have you?" is believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What one visitor brings: kept in memory for the length of the browser session, never stored."""

    api_key: SecretStr | None = None
    base_url: str = ""
    chat_model: str = ""
    embedding_model: str = ""
    """Instead of the operator's: `local`, or the name of a model that the same server as otherwise has."""
    searxng_url: str = ""
    searxng_username: str = ""
    searxng_password: SecretStr | None = None
    qdrant_url: str = ""
    qdrant_api_key: SecretStr | None = None


NOBODY = Access()
"""A visitor who brings nothing: the operator's settings apply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelServer:
    """Where the chat model is. `offered` lists its models when it was asked."""

    base_url: str
    api_key: SecretStr | None
    model: str
    offered: tuple[str, ...] = ()


class Engine:
    """What all runs of a process share: connections, workers, caches and the local embedder.

    Everything heavy starts on first use. All coroutines belong to one event loop.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.cache = Cache(settings.folder / "cache.sqlite", settings.cache_megabytes)
        self.kept = Behind(self.cache)
        self.workers = Workers(settings.workers or None)
        self.web = SafeWeb(
            holes=Holes.parse(settings.allow),
            concurrency=settings.fetch_concurrency,
            per_host=settings.per_host,
            user_agent=settings.user_agent,
            trust_env=settings.trust_env_proxy,
        )
        self.demo_search = DemoSearch(HANDBOOK)
        self.demo_web = DemoWeb(HANDBOOK)
        self._client: httpx.AsyncClient | None = None
        self._embedders: dict[tuple[str, str, str], CachedEmbed] = {}
        self._chats: dict[tuple[str, str, str], OpenAIChat] = {}
        self._reranker: Reranker | None = None
        self._collections: EdgeCollections | ServerCollections | None = None
        self._shelf: Shelf | None = None
        self._visited: dict[tuple[str, str], Shelf] = {}
        self._library: Library | None = None
        self._local_models: tuple[float, tuple[str, ...]] = (0.0, ())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def ports(self, knobs: Knobs, access: Access = NOBODY) -> Ports:
        """The world of one run under these knobs, with what the visitor brought."""
        protect(access.api_key, access.searxng_password, access.qdrant_api_key)
        server = await self.model_server(access)
        self._refuse_strange_embedder(access.embedding_model)
        embed = self.embed(server, access.embedding_model)
        return Ports(
            search=self.looking(knobs.search, embed, access),
            web=LibraryWeb(self.shelf_of(access), RoutedWeb(self.demo_web, CachedWeb(self.web, self.kept))),
            extract=LibraryExtract(CachedExtract(self.workers, self.kept)),
            embed=embed,
            chat=self.chat(server),
            rerank=self.rerank(),
        )

    # --- search -------------------------------------------------------------------------------------------

    def looking(self, knobs: SearchKnobs, embed: CachedEmbed, access: Access = NOBODY) -> Search:
        """What looks where the knobs say: on the web, in the library, or in both."""
        match knobs.origin:
            case Origin.WEB:
                return self.search(knobs.backend, access)
            case Origin.LIBRARY:
                return LibrarySearch(self.shelf_of(access), embed)
            case Origin.BOTH:
                library = LibrarySearch(self.shelf_of(access), embed)
                return WebAndLibrary(self.search(knobs.backend, access), library)

    def search(self, backend: Backend, access: Access = NOBODY) -> Search:
        match backend:
            case Backend.SEARXNG:
                return self.searxng(access)
            case Backend.DDGS:
                return Ddgs(timeout=self.settings.search_timeout)
            case Backend.DEMO:
                return self.demo_search
            case Backend.AUTO:
                connected = access.searxng_url or self.settings.searxng_url
                first = [("searxng", self.searxng(access))] if connected else []
                ddgs = Ddgs(timeout=self.settings.search_timeout)
                return FirstThatWorks([*first, ("ddgs", ddgs), ("demo", self.demo_search)])

    def searxng(self, access: Access = NOBODY) -> SearxNG:
        """The visitor's own instance, else the operator's. Each has its own name and password, and no other's.

        Raises:
            BadInput: when the visitor's address may not be called, or is none.
            SearchFailed: when there is neither.
        """
        settings = self.settings
        if access.searxng_url:
            self._refuse_stranger(access.searxng_url, settings.searxng_url, "SearXNG", "SEARXNG_URL")
            return SearxNG(
                access.searxng_url,
                username=access.searxng_username,
                password=access.searxng_password,
                timeout=settings.search_timeout,
                client=self.client,
            )
        if not settings.searxng_url:
            raise SearchFailed(
                "No SearXNG is connected.", hint="Set SEARXNG_URL to its address, or pick another backend."
            )
        return SearxNG(
            settings.searxng_url,
            username=settings.searxng_username,
            password=settings.searxng_password,
            timeout=settings.search_timeout,
            client=self.client,
        )

    @property
    def client(self) -> httpx.AsyncClient:
        """The connection pool to the operator's own endpoints. It follows no redirects and no proxies."""
        if self._client is None:
            self._client = httpx.AsyncClient(follow_redirects=False, trust_env=False)
        return self._client

    # --- models -------------------------------------------------------------------------------------------

    async def model_server(self, access: Access) -> ModelServer | None:
        """The chat model to use: the visitor's, else the operator's, else a local server that answers."""
        settings = self.settings
        if access.base_url or access.api_key:
            self._refuse_strange_server(access.base_url)
            base = access.base_url or settings.base_url or _home_of(access.api_key)
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

    def _refuse_strange_server(self, base_url: str) -> None:
        """On a shared server a visitor may not make OpenQuery call just any address."""
        known = ("", OPENROUTER, OPENAI, self.settings.base_url)
        if self.settings.shared and base_url.rstrip("/") not in known:
            raise BadInput(
                "This OpenQuery is shared, so it calls only the model servers that its operator named.",
                hint=f"Use {OPENROUTER}, {OPENAI}, or ask the operator to set OPENQUERY_BASE_URL.",
            )

    def _refuse_stranger(self, url: str, known: str, what: str, setting: str) -> None:
        if self.settings.shared and url.rstrip("/") != known.rstrip("/"):
            raise BadInput(
                f"This OpenQuery is shared, so it calls no {what} but its operator's.",
                hint=f"Ask the operator to set {setting}.",
            )

    def _refuse_strange_embedder(self, wanted: str) -> None:
        """On a shared server a visitor may not have passages embedded by just any model of the operator's server."""
        if self.settings.shared and wanted not in ("", LOCAL, self.settings.embedding_model):
            raise BadInput(
                f"This OpenQuery is shared, so it embeds with {self.settings.embedding_model} only.",
                hint=f"Choose that one, or {LOCAL}.",
            )

    async def _server(self, base_url: str, key: SecretStr | None, model: str) -> ModelServer:
        """A named server. Without a model name, its usual one, or the first that it offers."""
        if model or (model := DEFAULT_MODEL.get(base_url, "")):
            return ModelServer(base_url=base_url, api_key=key, model=model)
        offered = await models(base_url, key)
        return ModelServer(
            base_url=base_url, api_key=key, model=offered[0] if offered else "", offered=offered
        )

    async def offered(self, server: ModelServer) -> tuple[str, ...]:
        """The models that the server lists.

        Raises:
            ChatFailed: when it cannot be asked.
        """
        return await models(server.base_url, server.api_key)

    async def _ollama_models(self) -> tuple[str, ...]:
        asked, offered = self._local_models
        if not asked or time.monotonic() - asked > LOOK_AGAIN:
            offered = await ollama(self.settings.ollama_url)
            self._local_models = (time.monotonic(), offered)
        return offered

    def chat(self, server: ModelServer | None) -> Chat | None:
        if server is None:
            return None
        name = (server.base_url, _plain(server.api_key), server.model)
        if name not in self._chats:
            if len(self._chats) >= CHATS_KEPT:
                del self._chats[next(iter(self._chats))]  # a run that still uses it holds it
            self._chats[name] = OpenAIChat(
                server.model, server.base_url, server.api_key, timeout=self.settings.model_timeout
            )
        return self._chats[name]

    def embed(self, server: ModelServer | None, wanted: str = "") -> CachedEmbed:
        """The operator's embedder, or the `wanted` one. A visitor's key goes to the visitor's own server only."""
        settings = self.settings
        model = wanted or settings.embedding_model
        if model == LOCAL:
            base, key = LOCAL, None
        elif settings.embedding_base_url or server is None:
            base = settings.embedding_base_url or OPENAI
            key = settings.openrouter_api_key if base == OPENROUTER else settings.openai_api_key
        else:
            base, key = server.base_url, server.api_key
        name = (model, base, _plain(key))
        if name not in self._embedders:
            embedder: Embed = (
                MiniLM() if base == LOCAL else RemoteEmbedder(model, base, key, client=self.client)
            )
            self._embedders[name] = CachedEmbed(embedder, self.kept)
        return self._embedders[name]

    def rerank(self) -> Rerank | None:
        settings = self.settings
        if not settings.rerank_url:
            return None
        if self._reranker is None:
            self._reranker = Reranker(
                settings.rerank_url,
                settings.rerank_model,
                settings.rerank_key,
                timeout=settings.model_timeout,
                client=self.client,
            )
        return self._reranker

    # --- library ------------------------------------------------------------------------------------------

    @property
    def collections(self) -> EdgeCollections | ServerCollections:
        """The vector database: the operator's Qdrant server, or a folder below the data folder."""
        if self._collections is None:
            self._collections = collections(self.settings)
        return self._collections

    @property
    def shelf(self) -> Shelf:
        """The collections as a run reads them."""
        if self._shelf is None:
            self._shelf = Shelf(self.collections)
        return self._shelf

    def shelf_of(self, access: Access) -> Shelf:
        """The collections of the visitor's own Qdrant server, else the operator's.

        Raises:
            BadInput: when the visitor's address may not be called, or address or key cannot be one.
        """
        if not access.qdrant_url:
            return self.shelf
        self._refuse_stranger(access.qdrant_url, self.settings.qdrant_url, "Qdrant", "QDRANT_URL")
        name = (access.qdrant_url, _plain(access.qdrant_api_key))
        if name not in self._visited:
            if len(self._visited) >= VISITED_KEPT:
                del self._visited[next(iter(self._visited))]  # a run that still uses it holds it
            self._visited[name] = Shelf(ServerCollections(access.qdrant_url, access.qdrant_api_key))
        return self._visited[name]

    @property
    def library(self) -> Library:
        """Documents of one's own: added, listed, searched, deleted."""
        if self._library is None:
            from core.library.library import Library
            from core.library.taking import Bounds

            self._library = Library(
                folder=self.settings.folder,
                collections=self.collections,
                embedder=self._embedder,
                workers=self.workers,
                web=self.web,
                bounds=Bounds.of(self.settings),
            )
        return self._library

    async def _embedder(self, access: Access | None) -> Embed:
        """The embedder itself: a library's vectors are in its collections, and need not fill the cache too."""
        access = access or NOBODY
        protect(access.api_key)
        return self.embed(await self.model_server(access), access.embedding_model).embed

    # --- life ---------------------------------------------------------------------------------------------

    async def warm(self) -> None:
        """Start what the first run would otherwise wait for."""
        first = (self.workers.start(), self.demo_search("warm", SearchKnobs()))
        if self.settings.embedding_model == LOCAL:
            await asyncio.gather(*first, self.embed(None).warm())
        else:
            await asyncio.gather(*first)
        await self._warm_chat()

    async def _warm_chat(self) -> None:
        """Prepare the operator's chat model, where which one it is can be told without asking a server."""
        settings = self.settings
        known = (
            settings.chat_model
            if settings.base_url
            else settings.openrouter_api_key or settings.openai_api_key
        )
        if known and isinstance(chat := self.chat(await self.model_server(NOBODY)), OpenAIChat):
            with suppress(ChatFailed):  # which the first question meets too, and tells
                await chat.warm()

    async def aclose(self) -> None:
        """Close every connection and process, once what was computed is on disk."""
        if self._library:
            await self._library.aclose()
        await self.kept.flush()
        if self._collections:
            await self._collections.aclose()
        for visited in self._visited.values():
            await visited.collections.aclose()
        await asyncio.gather(
            self.workers.aclose(), self.web.aclose(), *(chat.aclose() for chat in self._chats.values())
        )
        if self._client:
            await self._client.aclose()
        self.cache.close()


def _home_of(key: SecretStr | None) -> str:
    """The server that a key without an address is meant for: OpenRouter's keys carry its mark."""
    return OPENROUTER if _plain(key).startswith("sk-or-") else OPENAI


def _plain(key: SecretStr | None) -> str:
    return key.get_secret_value() if key else ""
