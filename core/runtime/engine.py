"""Settings become ports: the only place where adapters are chosen and wired."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import httpx
from pydantic import SecretStr

from core.adapters.cache.disk_cache import DiskCache
from core.adapters.cache.embedding_cache import CachedEmbed
from core.adapters.cache.page_cache import CachedExtract, CachedWeb
from core.adapters.cache.write_behind_cache import WriteBehindCache
from core.adapters.models.local_embedder import MiniLM
from core.adapters.models.openai_chat import OpenAIChat
from core.adapters.models.remote_embedder import RemoteEmbedder
from core.adapters.models.reranker import Reranker
from core.adapters.qdrant.backend_choice import collections
from core.adapters.qdrant.edge_collections import EdgeCollections
from core.adapters.qdrant.server_collections import ServerCollections
from core.adapters.search.ddgs_search import Ddgs
from core.adapters.search.demo_search import DemoSearch
from core.adapters.search.preference import FirstWorkingSearch
from core.adapters.search.searxng import SearxNG
from core.adapters.web.demo_pages import DemoWeb, RoutedWeb
from core.adapters.web.extraction_pool import ExtractionPool
from core.adapters.web.safe_client import SafeWeb
from core.adapters.web.safe_url import Holes
from core.config.access import NOBODY, Access, Admission
from core.config.knobs import Backend, Knobs, Origin, SearchKnobs
from core.config.settings import HANDBOOK, LOCAL, OPENAI, OPENROUTER, Settings
from core.errors import ChatFailed, SearchFailed
from core.library.search_ports import (
    LibraryExtract,
    LibrarySearch,
    LibraryWeb,
    SearchableCollections,
    WebAndLibrary,
)
from core.library.session_files import SessionFiles, SessionFilesPool
from core.ports import Chat, Embed, Ports, Rerank, Search
from core.runtime.logs import protect
from core.runtime.model_servers import ModelServer, ModelServers

if TYPE_CHECKING:
    from core.library.library import Library

CHATS_KEPT = 64
"""Chat clients, one for each key and model, of which the oldest are dropped."""

EMBEDDERS_KEPT = 8
"""Embedders, one for each key and model, each with the vectors that it gave lately, up to 100 MB."""

VISITED_KEPT = 64
"""Clients of visitors' own Qdrant servers."""


class Engine:
    """What all runs of a process share: connections, workers, caches and the local embedder.

    Everything heavy starts on first use. All coroutines belong to one event loop.
    """

    def __init__(self, settings: Settings, *, folders: Sequence[Path] = ()) -> None:
        """`folders` may be added from beside those that the settings name."""
        self.settings = settings
        self._folders = tuple(folders)
        self.admission = Admission(settings)
        self.models = ModelServers(settings, self.admission)
        self.cache = DiskCache(settings.folder / "cache.sqlite", settings.cache_megabytes)
        self.kept = WriteBehindCache(self.cache)
        self.workers = ExtractionPool(settings.workers or None)
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
        self._shelf: SearchableCollections | None = None
        self._visited: dict[tuple[str, str], tuple[ServerCollections, SearchableCollections]] = {}
        self._library: Library | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def ports(self, knobs: Knobs, access: Access = NOBODY) -> Ports:
        """The world of one run under these knobs, with what the visitor brought."""
        protect(access.api_key, access.searxng_password, access.qdrant_api_key)
        server = await self.models.chosen(access)
        self.admission.embedder(access.embedding_model)
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
                return FirstWorkingSearch([*first, ("ddgs", ddgs), ("demo", self.demo_search)])

    def searxng(self, access: Access = NOBODY) -> SearxNG:
        """The visitor's own instance, else the operator's. Each has its own name and password, and no other's.

        Raises:
            BadInput: when the visitor's address may not be called, or is none.
            SearchFailed: when there is neither.
        """
        settings = self.settings
        if access.searxng_url:
            self.admission.service(access.searxng_url, settings.searxng_url, "SearXNG", "SEARXNG_URL")
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
        embedder = self._embedders.pop(name, None)
        if embedder is None:
            embedder = CachedEmbed(
                MiniLM() if base == LOCAL else RemoteEmbedder(model, base, key, client=self.client), self.kept
            )
            if len(self._embedders) >= EMBEDDERS_KEPT:
                del self._embedders[next(iter(self._embedders))]  # a run that still uses it holds it
        self._embedders[name] = embedder  # the last, so that the first is the one not used for longest
        return embedder

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
    def shelf(self) -> SearchableCollections:
        """The collections as a run reads them."""
        if self._shelf is None:
            self._shelf = SearchableCollections(self.collections)
        return self._shelf

    @cached_property
    def session_files(self) -> SessionFilesPool:
        """What the files of all sessions share."""
        return SessionFilesPool(
            extract=self.workers,
            embedder=self._embedder,
            largest=int(self.settings.file_megabytes * 1e6),
        )

    def shelf_of(self, access: Access) -> SearchableCollections:
        """What a visitor's questions find: in the files of their session, and on their own Qdrant server, else the operator's.

        Raises:
            BadInput: when the visitor's address may not be called, or address or key cannot be one.
        """
        shelf = self.visited(access)[1] if access.qdrant_url else self.shelf
        return files.combined_with(shelf) if isinstance(files := access.files, SessionFiles) else shelf

    def visited(self, access: Access) -> tuple[ServerCollections, SearchableCollections]:
        """The collections of the visitor's own Qdrant server, and those as a run reads them. Raises as above."""
        self.admission.service(access.qdrant_url, self.settings.qdrant_url, "Qdrant", "QDRANT_URL")
        name = (access.qdrant_url, _plain(access.qdrant_api_key))
        if name not in self._visited:
            if len(self._visited) >= VISITED_KEPT:
                del self._visited[next(iter(self._visited))]  # a run that still uses it holds it
            own = ServerCollections(access.qdrant_url, access.qdrant_api_key)
            self._visited[name] = own, SearchableCollections(own)
        return self._visited[name]

    @property
    def library(self) -> Library:
        """Documents of one's own: added, listed, searched, deleted."""
        if self._library is None:
            from core.library.library import Library
            from core.library.plan_ingest import IngestLimits

            self._library = Library(
                folder=self.settings.folder,
                collections=self.collections,
                embedder=self._embedder,
                workers=self.workers,
                web=self.web,
                limits=IngestLimits.from_settings(self.settings, self._folders),
            )
        return self._library

    async def _embedder(self, access: Access | None) -> Embed:
        """The embedder itself: a library's vectors are in its collections, and need not fill the cache too."""
        access = access or NOBODY
        protect(access.api_key)
        return self.embed(await self.models.chosen(access), access.embedding_model).embed

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
        if known and isinstance(chat := self.chat(await self.models.chosen(NOBODY)), OpenAIChat):
            with suppress(ChatFailed):  # which the first question meets too, and tells
                await chat.warm()

    async def aclose(self) -> None:
        """Close every connection and process, once what was computed is on disk."""
        if self._library:
            await self._library.aclose()
        await self.kept.flush()
        if self._collections:
            await self._collections.aclose()
        for visited, _ in self._visited.values():
            await visited.aclose()
        await asyncio.gather(
            self.workers.aclose(), self.web.aclose(), *(chat.aclose() for chat in self._chats.values())
        )
        for embedder in self._embedders.values():
            if isinstance(embedder.embed, MiniLM):
                embedder.embed.close()
        self._embedders.clear()
        if self._client:
            await self._client.aclose()
        self.cache.close()


def _plain(key: SecretStr | None) -> str:
    return key.get_secret_value() if key else ""
