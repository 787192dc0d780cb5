"""Dependency wiring of runs: settings become ports. Adapters are chosen here, and those of sweeps in `sweep_workers`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import httpx
from cachetools import LRUCache
from pydantic import SecretStr

from core.adapters.cache.disk_cache import DiskCache
from core.adapters.cache.embedding_cache import CachedEmbed
from core.adapters.cache.page_cache import CachedExtract, CachedWeb
from core.adapters.cache.write_behind_cache import WriteBehindCache
from core.adapters.models.local_embedder import MiniLM
from core.adapters.models.model_http import host_of
from core.adapters.models.openai_chat import OpenAIChat
from core.adapters.models.remote_embedder import RemoteEmbedder
from core.adapters.models.reranker import Reranker
from core.adapters.qdrant.backend_choice import collections
from core.adapters.qdrant.edge_collections import EdgeCollections
from core.adapters.qdrant.server_collections import ServerCollections
from core.adapters.search.ddgs_search import Ddgs, DefaultBackend
from core.adapters.search.demo_search import DemoSearch
from core.adapters.search.searxng import SearxNG
from core.adapters.search.searxng_reply import InstanceConfigs
from core.adapters.web.demo_pages import DemoWeb, RoutedWeb
from core.adapters.web.extraction_pool import ExtractionPool
from core.adapters.web.networks import AddressAllowlist
from core.adapters.web.safe_client import SafeWeb
from core.config.access import NO_ACCESS, Access, Admission
from core.config.egress import EVERY_COLLECTION, IN_PROCESS, EgressPolicy, described, searched_origins
from core.config.knobs import Backend, Knobs, Origin, SearchKnobs
from core.config.memory import memory_budget
from core.config.settings import HANDBOOK, LOCAL, Settings
from core.errors import ChatFailed, LibraryFailed, SearchFailed
from core.library.passage_documents import LibraryExtract, LibraryWeb
from core.library.search_ports import LibrarySearch, SearchableCollections, WebAndLibrary
from core.library.session_files import SessionFiles, SessionFilesPool
from core.model import Message, StreamChunk, ToolDefinition
from core.ports import Embed, Ports, Search
from core.run.state import Run
from core.runtime.client_pool import ClientPool
from core.runtime.logs import redact
from core.runtime.model_servers import LOCAL_EMBEDDER, ModelServer, ModelServers

if TYPE_CHECKING:
    from core.library.library import Library

CHAT_CLIENTS = 64
"""Chat clients in the pool, one for each server, key and model."""

EMBEDDERS = 8
"""Embedders in memory, one for each model, server and key, each with up to 40 MB of recent vectors."""

QDRANT_CLIENTS = 64
"""Clients of visitors' own Qdrant servers in the pool."""


class SharedChat:
    """The `Chat` port over a pooled client. Runs refer to this, so the client can close when none does."""

    def __init__(self, client: OpenAIChat) -> None:
        self.client = client
        self.identity, self.host = client.identity, client.host

    def __call__(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        stop: Sequence[str] = (),
        tools: Sequence[ToolDefinition] = (),
    ) -> AsyncGenerator[StreamChunk]:
        """Stream the reply of the client."""
        return self.client(messages, max_tokens=max_tokens, temperature=temperature, stop=stop, tools=tools)


class VisitorCollections(SearchableCollections):
    """The searchable collections of a pooled client of a visitor's own Qdrant server."""

    def __init__(self, client: ServerCollections) -> None:
        super().__init__(client)
        self.client = client


class Engine:
    """What all runs of a process share: connections, extraction workers, caches and embedders.

    Everything expensive starts on first use. All coroutines belong to one event loop.
    """

    def __init__(self, settings: Settings, *, folders: Sequence[Path] = ()) -> None:
        """`folders` are document folders that may be ingested, in addition to those of the settings."""
        self.settings = settings
        self._folders = tuple(folders)
        self.admission = Admission(settings)
        self.models = ModelServers(settings, self.admission)
        self.egress = EgressPolicy.from_settings(settings)
        self.cache = DiskCache(settings.folder / "cache.sqlite", settings.cache_megabytes)
        self.write_cache = WriteBehindCache(self.cache)
        self.memory = memory_budget(settings.memory_megabytes, settings.workers or os.cpu_count() or 1)
        self.workers = ExtractionPool(self.memory.workers, megabytes=self.memory.worker_megabytes)
        self.web = SafeWeb(
            allowlist=AddressAllowlist.parse(settings.fetch_allowlist),
            concurrency=settings.fetch_concurrency,
            per_host=settings.per_host,
            user_agent=settings.user_agent,
            trust_env=settings.trust_env_proxy,
        )
        self.demo_search = DemoSearch(HANDBOOK)
        self._default_backend = DefaultBackend()
        self._searxng_configs = InstanceConfigs()
        self.demo_web = DemoWeb(HANDBOOK)
        self._client: httpx.AsyncClient | None = None
        self._embedders: LRUCache[tuple[str, ...], CachedEmbed] = LRUCache(EMBEDDERS)
        self._chats = ClientPool[SharedChat](CHAT_CLIENTS)
        self._shared_reranker: Reranker | None = None
        self._collections: EdgeCollections | ServerCollections | None = None
        self._searchable: SearchableCollections | None = None
        self._visitors_qdrant = ClientPool[VisitorCollections](QDRANT_CLIENTS)
        self._library: Library | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def ports(
        self,
        knobs: Knobs,
        access: Access = NO_ACCESS,
        run: Run | None = None,
        *,
        origins: Collection[str] = (),
    ) -> Ports:
        """The ports of one run under these knobs, with the visitor's own servers and keys.

        Args:
            knobs: those of the run, which say where it searches.
            access: the visitor's.
            run: the run so far, for a follow-up.
            origins: where its texts come from, for one that searches nothing.

        Raises:
            BadInput: when the visitor may not use a server or model of theirs here, or the egress policy refuses.
            ChatFailed: when a model server must be asked for its models and does not answer.
            EmbedFailed: when no server is named for the embedding model.
        """
        redact(access.api_key, access.searxng_password, access.qdrant_api_key)
        self.models.look_for_ollama()
        server = await self.models.chat_server(access)
        origins = origins or await self.origins(knobs.search, access, run)
        (_, note), embed = await self.embedding_model(access, origins), await self.embedder(access, origins)
        chat, rerank = self.chat_client(server), self.reranker()
        for port in (chat, rerank if knobs.rank.rerank else None):
            if port is not None:
                self.egress.withheld(port.host, origins)  # raises where the policy refuses
        return Ports(
            search=await self.search_port(knobs, embed, access),
            web=LibraryWeb(
                self.searchable_for(access), RoutedWeb(self.demo_web, CachedWeb(self.web, self.write_cache))
            ),
            extract=LibraryExtract(CachedExtract(self.workers, self.write_cache)),
            embed=embed,
            chat=chat,
            rerank=rerank,
            egress=self.egress,
            egress_note=note,
        )

    async def origins(self, search: SearchKnobs, access: Access, run: Run | None = None) -> frozenset[str]:
        """Where the texts of a run may come from: where it searches, and where it has some from."""
        origins = searched_origins(search) | (run.origins if run else frozenset())
        if EVERY_COLLECTION in origins and self.egress.private:
            with suppress(LibraryFailed):  # the search reports it; what is unknown stays private
                names = await self.searchable_for(access).collections.names()
                origins = origins - {EVERY_COLLECTION} | set(names)
        return origins

    # --- search -------------------------------------------------------------------------------------------

    async def search_port(self, knobs: Knobs, embed: CachedEmbed, access: Access = NO_ACCESS) -> Search:
        """The search over the web, the library, or both, as `knobs.search.origin` says."""
        origin = knobs.search.origin
        library = LibrarySearch(self.searchable_for(access), embed, knobs.rank.top_k)
        if origin is Origin.LIBRARY:
            return library
        web = self.web_search(await self.resolve_backend(knobs.search.backend, access), access)
        return web if origin is Origin.WEB else WebAndLibrary(web, library)

    async def resolve_backend(self, backend: Backend, access: Access = NO_ACCESS) -> Backend:
        """The backend that is asked: `auto` is the connected SearXNG; without one, ddgs or the demo library.

        A SearXNG that somebody connected is never replaced because it fails.
        """
        if backend is not Backend.AUTO:
            return backend
        if self.searxng_url(access):
            return Backend.SEARXNG
        return await self._default_backend.choose()

    def alternative_backends(self, run: Run, access: Access = NO_ACCESS) -> tuple[Backend, ...]:
        """What may be searched instead where the search of a run failed or found nothing, for a person to choose."""
        knobs, connected = run.knobs.search, bool(self.searxng_url(access))
        failed = next((one for one in Backend if one == run.backend), knobs.backend)
        if failed is Backend.AUTO:
            failed = Backend.SEARXNG if connected else Backend.DDGS
        offered = (*((Backend.SEARXNG,) if connected else ()), Backend.DDGS, Backend.DEMO)
        return () if knobs.origin is Origin.LIBRARY else tuple(one for one in offered if one is not failed)

    def searxng_url(self, access: Access = NO_ACCESS) -> str:
        """The address of the visitor's SearXNG, else of the operator's; empty when none is connected."""
        return access.searxng_url or self.settings.searxng_url

    def web_search(self, backend: Backend, access: Access = NO_ACCESS) -> Search:
        """The `Search` port of a backend; `auto` must be resolved before."""
        match backend:
            case Backend.SEARXNG:
                return self.searxng(access)
            case Backend.DDGS:
                return Ddgs(timeout=self.settings.search_timeout)
            case Backend.DEMO:
                return self.demo_search
            case Backend.AUTO:
                raise ValueError("auto names no backend: resolve it first")

    def searxng(self, access: Access = NO_ACCESS) -> SearxNG:
        """The visitor's own SearXNG, else the operator's, each with its own credentials only.

        Raises:
            BadInput: when the visitor's address may not be called, or is not an address.
            SearchFailed: when no SearXNG is connected.
        """
        settings = self.settings
        if access.searxng_url:
            self.admission.check_service(access.searxng_url, settings.searxng_url, "SearXNG", "SEARXNG_URL")
            return SearxNG(
                access.searxng_url,
                username=access.searxng_username,
                password=access.searxng_password,
                timeout=settings.search_timeout,
                client=self.client,
                configs=self._searxng_configs,
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
            configs=self._searxng_configs,
        )

    @property
    def client(self) -> httpx.AsyncClient:
        """The HTTP connection pool to named endpoints. It follows no redirects and uses no proxy."""
        if self._client is None:
            self._client = httpx.AsyncClient(follow_redirects=False, trust_env=False)
        return self._client

    # --- models -------------------------------------------------------------------------------------------

    def chat_client(self, server: ModelServer | None) -> SharedChat | None:
        """The chat client of a model server, from the pool; None without a server."""
        if server is None:
            return None

        def connect() -> tuple[SharedChat, OpenAIChat]:
            timeout = self.settings.model_timeout
            client = OpenAIChat(server.model, server.base_url, server.api_key, timeout=timeout)
            return SharedChat(client), client

        return self._chats.get((server.base_url, _secret(server.api_key), server.model), connect)

    async def embedding_model(self, access: Access, origins: Collection[str]) -> tuple[ModelServer, str]:
        """The embedding model for texts of these origins, and why it is not the one that was chosen, if it is not.

        Where the egress policy withholds a text from the chosen one, it is the local one. Raises as
        `ModelServers.embedding_server`, and BadInput where the policy refuses.
        """
        chosen = await self.models.embedding_server(access)
        host = host_of(chosen.base_url) if chosen.base_url else IN_PROCESS
        if withheld := self.egress.withheld(host, origins):
            note = (
                f"{described(withheld)} is embedded by the local model: {chosen.model} at {host} is hosted."
            )
            return LOCAL_EMBEDDER, note
        return chosen, ""

    async def embedder(self, access: Access = NO_ACCESS, origins: Collection[str] = ()) -> CachedEmbed:
        """The embedder for texts of these origins, with the vector cache. Raises as `embedding_model`."""
        chosen, _ = await self.embedding_model(access, origins)
        name = (chosen.model, chosen.base_url, _secret(chosen.api_key))
        if (embedder := self._embedders.get(name)) is None:
            inner = (
                RemoteEmbedder(chosen.model, chosen.base_url, chosen.api_key, client=self.client)
                if chosen.base_url
                else MiniLM()
            )
            embedder = self._embedders[name] = CachedEmbed(inner, self.write_cache)
        return embedder

    async def judge_client(self, run: Run, access: Access) -> SharedChat | None:
        """The chat model to judge the answer of a run by its sources; None without one.

        Raises:
            BadInput: also when the egress policy withholds a source from it.
        """
        chat = self.chat_client(await self.models.chat_server(access))
        if chat:
            self.egress.require(chat.identity, chat.host, run.origins)
        return chat

    def reranker(self) -> Reranker | None:
        """The operator's reranking model; None when none is set."""
        settings = self.settings
        if not settings.rerank_url:
            return None
        if self._shared_reranker is None:
            self._shared_reranker = Reranker(
                settings.rerank_url,
                settings.rerank_model,
                settings.rerank_key,
                timeout=settings.model_timeout,
                client=self.client,
            )
        return self._shared_reranker

    # --- library ------------------------------------------------------------------------------------------

    @property
    def collections(self) -> EdgeCollections | ServerCollections:
        """The vector database: the operator's Qdrant server, else an embedded one below the data folder."""
        if self._collections is None:
            self._collections = collections(self.settings)
        return self._collections

    @property
    def searchable(self) -> SearchableCollections:
        """The collections of the vector database, as runs search and read them."""
        if self._searchable is None:
            self._searchable = SearchableCollections(self.collections)
        return self._searchable

    @cached_property
    def session_files(self) -> SessionFilesPool:
        """The files of all sessions."""
        return SessionFilesPool(
            extract=self.workers,
            embedder=self._library_embedder,
            memory_limit=self.memory.files,
            largest=int(self.settings.file_megabytes * 1e6),
        )

    def searchable_for(self, access: Access) -> SearchableCollections:
        """The collections that a visitor's questions search: their session's files, and their own Qdrant server's or the operator's.

        Raises:
            BadInput: when the visitor's address may not be called, or address or key cannot be one.
        """
        searchable = self.visitor_collections(access) if access.qdrant_url else self.searchable
        return (
            files.combined_with(searchable) if isinstance(files := access.files, SessionFiles) else searchable
        )

    def visitor_collections(self, access: Access) -> VisitorCollections:
        """The collections of the visitor's own Qdrant server, from the pool. Raises as above."""
        self.admission.check_service(access.qdrant_url, self.settings.qdrant_url, "Qdrant", "QDRANT_URL")

        def connect() -> tuple[VisitorCollections, ServerCollections]:
            client = ServerCollections(access.qdrant_url, access.qdrant_api_key)
            return VisitorCollections(client), client

        return self._visitors_qdrant.get((access.qdrant_url, _secret(access.qdrant_api_key)), connect)

    @property
    def library(self) -> Library:
        """The document library: ingest, list, search, delete."""
        if self._library is None:
            from core.library.ingests import IngestLimits
            from core.library.library import Library

            self._library = Library(
                folder=self.settings.folder,
                collections=self.collections,
                embedder=self._library_embedder,
                workers=self.workers,
                web=self.web,
                limits=IngestLimits.from_settings(self.settings, self._folders),
            )
        return self._library

    async def _library_embedder(self, access: Access | None, collection: str) -> Embed:
        """The embedder of a collection, without the vector cache: a library's vectors are in its collections."""
        access = access or NO_ACCESS
        redact(access.api_key)
        return (await self.embedder(access, (collection,))).embed

    # --- life ---------------------------------------------------------------------------------------------

    async def warm(self) -> None:
        """Start workers and models now, so that the first run does not wait for them."""
        starts = (self.workers.start(), self.demo_search("warm", SearchKnobs()))
        if self.settings.embedding_model == LOCAL:
            await asyncio.gather(*starts, (await self.embedder()).warm())
        else:
            await asyncio.gather(*starts)
        await self._warm_chat()

    async def _warm_chat(self) -> None:
        """Prepare the operator's chat client, unless a server has to be asked for its models."""
        settings = self.settings
        known = (
            settings.chat_model
            if settings.base_url
            else settings.openrouter_api_key or settings.openai_api_key
        )
        if known and (chat := self.chat_client(await self.models.chat_server(NO_ACCESS))):
            with suppress(ChatFailed):  # the first question reports it
                await chat.client.warm()

    async def aclose(self) -> None:
        """Write the caches to disk, and close every connection and process."""
        if self._library:
            await self._library.aclose()
        await self.write_cache.flush()
        if self._collections:
            await self._collections.aclose()
        await asyncio.gather(
            self.workers.aclose(), self.web.aclose(), self._chats.aclose(), self._visitors_qdrant.aclose()
        )
        for embedder in self._embedders.values():
            if isinstance(embedder.embed, MiniLM):
                embedder.embed.close()
        self._embedders.clear()
        if self._client:
            await self._client.aclose()
        self.cache.close()


def _secret(key: SecretStr | None) -> str:
    return key.get_secret_value() if key else ""
