"""Wire settings into ports. Adapters are chosen only here and in `core.runtime.choices`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from core.adapters.cache.disk_cache import DiskCache
from core.adapters.cache.embedding_cache import CachedEmbed
from core.adapters.cache.page_cache import CachedExtract, CachedWeb
from core.adapters.cache.write_behind_cache import WriteBehindCache
from core.adapters.models.embed_on_workers import embed_on
from core.adapters.web.demo_pages import DemoWeb, RoutedWeb
from core.adapters.web.extraction_pool import ExtractionPool
from core.adapters.web.networks import AddressAllowlist
from core.adapters.web.safe_client import SafeWeb
from core.adapters.workers.jobs import Workers
from core.config.access import NO_ACCESS, Access, Admission
from core.config.egress import EVERY_COLLECTION, EgressPolicy, searched_origins
from core.config.knobs import Knobs, Origin, SearchKnobs
from core.config.memory import memory_budget
from core.config.run_knobs import Method
from core.config.settings import HANDBOOK, Settings
from core.errors import BadInput, LibraryFailed
from core.features.library.passage_documents import LibraryExtract, LibraryWeb
from core.features.library.qdrant.edge_collections import EdgeCollections
from core.features.library.qdrant.server_collections import ServerCollections
from core.features.library.services.collections import CollectionChoice
from core.features.library.session_files import SessionFilesPool
from core.ports import Chat, Embed, Ports, Search
from core.run.state import Run
from core.runtime.choices.model_checks import ModelChecks
from core.runtime.choices.model_servers import ModelServers
from core.runtime.choices.models import Models
from core.runtime.choices.searches import Searches
from core.runtime.logs import redact
from core.sandbox.process import share_arenas
from core.storage.price_file import PriceFile

if TYPE_CHECKING:
    from core.features.library.library import Library

_CONNECTIONS = ("client", "models", "searchable", "collections", "web", "workers")
"""The parts that hold connections or processes, users after the parts they use. They are closed in reverse."""


class Engine(AbstractAsyncContextManager["Engine"]):
    """The connections, extraction workers, caches and embedders that all runs of a process share.

    Everything expensive starts on first use. All coroutines belong to one event loop.
    """

    def __init__(
        self, settings: Settings, *, folders: Sequence[Path] = (), jobs: Workers | None = None
    ) -> None:
        """Create the engine without starting its parts.

        `folders` are document folders that may be ingested, in addition to the folders of the settings. Ingests read,
        split and embed on `jobs`, which outlive the engine.
        """
        share_arenas()
        self.settings = settings
        self._jobs = jobs
        self._folders = tuple(folders)
        self.admission = Admission(settings)
        self.egress = EgressPolicy.from_settings(settings)
        self.prices = PriceFile(settings.folder, self.egress)
        self.memory = memory_budget(settings.memory_megabytes, settings.workers or os.cpu_count() or 1)
        self.cache = DiskCache(settings.folder / "cache.sqlite", settings.cache_megabytes)
        self.write_cache = WriteBehindCache(self.cache)

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def ports(
        self,
        knobs: Knobs,
        access: Access = NO_ACCESS,
        run: Run | None = None,
        *,
        origins: Collection[str] = (),
        writes: bool = True,
    ) -> Ports:
        """Return the ports of one run for a visitor.

        Args:
            knobs: the run's knobs, which choose where it searches.
            access: the visitor's servers and keys.
            run: the current run, for a follow-up.
            origins: the origins of its texts, for a run that searches nothing.
            writes: whether a chat model may be asked to write. A ranking asks no model server, not even for its
                list.

        Raises:
            BadInput: when the visitor may not use a server or model of theirs here, or the egress policy refuses.
            ChatFailed: when a model server must be asked for its models and does not answer.
            EmbedFailed: when no server is named for the embedding model.
        """
        redact(access.api_key, access.searxng_password, access.qdrant_api_key)
        if writes:
            self.models.servers.look_for_ollama()
        server = await self.models.servers.chat_server(access, ask=writes)
        origins = origins or await self.origins(knobs.search, access, run)
        _, note = await self.models.embedding_model(access, origins)
        embed = await self.models.embedder(access, origins)
        chat, rerank = self.models.chat_client(server), self.models.reranker()
        for port in (chat, rerank if knobs.rank.rerank else None):
            if port is not None:
                self.egress.withheld(port.host, origins)  # raises if the policy refuses
        return Ports(
            search=await self.searches.port(
                knobs, embed, access, may_be_missing=run is not None and bool(run.pages)
            ),
            web=LibraryWeb(
                self.searchable.for_visitor(access),
                RoutedWeb(DemoWeb(HANDBOOK), CachedWeb(self.web, self.write_cache)),
            ),
            extract=LibraryExtract(CachedExtract(self.workers, self.write_cache)),
            embed=embed,
            across=self.models.across(embed),
            chat=chat,
            library=await self._library_of_agent(knobs, access, embed, chat),
            rerank=rerank,
            egress=self.egress,
            egress_note=note,
            prices=self.prices.read(),
        )

    async def embedder_of(self, run: Run, access: Access = NO_ACCESS) -> CachedEmbed:
        """Return the embedder that matches a run's vectors.

        It is the multilingual embedder if that made the run's index, otherwise the current embedder for the run's
        origins. Raises the errors of `Models.embedder`.
        """
        embed = await self.models.embedder(access, run.origins)
        across = self.models.across(embed)
        return across if across and run.index and run.index.embedder == across.identity else embed

    async def _library_of_agent(
        self, knobs: Knobs, access: Access, embed: CachedEmbed, chat: Chat | None
    ) -> Search | None:
        """Return the search in collections that the models of an agent may read, or None."""
        if chat is None or knobs.run.method is not Method.AGENT or knobs.search.origin is not Origin.WEB:
            return None
        searchable = self.searchable.for_visitor(access)
        try:
            names = knobs.search.collections or await searchable.collections.names()
            withheld = [self.egress.withheld(port.host, names) for port in (chat, embed)]
        except (BadInput, LibraryFailed):  # the policy refuses, or the database is missing
            return None
        return self.searches.library(knobs, embed, access) if set(names).difference(*withheld) else None

    async def origins(self, search: SearchKnobs, access: Access, run: Run | None = None) -> frozenset[str]:
        """Return the possible origins of a run's texts. They are where it searches and where its texts come from."""
        origins = searched_origins(search) | (run.origins if run else frozenset())
        if EVERY_COLLECTION in origins and self.egress.private:
            with suppress(LibraryFailed):  # the search reports the error, and unknown names stay private
                names = await self.searchable.for_visitor(access).collections.names()
                origins = origins - {EVERY_COLLECTION} | set(names)
        return origins

    @cached_property
    def client(self) -> httpx.AsyncClient:
        """The HTTP connection pool to configured servers. It follows no redirects and uses no proxy."""
        return httpx.AsyncClient(follow_redirects=False, trust_env=False)

    @cached_property
    def models(self) -> Models:
        """Chat clients, embedders and the reranker."""
        servers = ModelServers(self.settings, self.admission)
        return Models(self.settings, servers, self.egress, self.write_cache, lambda: self.client)

    @cached_property
    def model_checks(self) -> ModelChecks:
        """The check whether the chat model answers."""
        return ModelChecks(self.models)

    @cached_property
    def searches(self) -> Searches:
        """The searches of the web and the library."""
        return Searches(
            self.settings,
            self.admission,
            self.searchable,
            lambda: self.client,
            lambda: self.models.multilingual,
        )

    @cached_property
    def collections(self) -> EdgeCollections | ServerCollections:
        """The operator's vector database: a Qdrant server, or an embedded database in the data folder.

        Raises:
            BadInput: when the server's address or key cannot be one.
        """
        settings = self.settings
        if settings.qdrant_url:
            return ServerCollections(settings.qdrant_url, settings.qdrant_api_key)
        return EdgeCollections(settings.folder / "library")

    @cached_property
    def searchable(self) -> CollectionChoice:
        """The collections that runs search and read."""
        return CollectionChoice(self.settings, self.admission, self.collections)

    @cached_property
    def workers(self) -> ExtractionPool:
        """The processes that extract articles."""
        return ExtractionPool(self.memory.workers, megabytes=self.memory.worker_megabytes)

    @cached_property
    def web(self) -> SafeWeb:
        """The client that fetches pages, from public addresses only."""
        settings = self.settings
        return SafeWeb(
            allowlist=AddressAllowlist.parse(settings.fetch_allowlist),
            concurrency=settings.fetch_concurrency,
            per_host=settings.per_host,
            user_agent=settings.user_agent,
            trust_env=settings.trust_env_proxy,
        )

    @cached_property
    def session_files(self) -> SessionFilesPool:
        """The files of all sessions."""
        return SessionFilesPool(
            extract=self.workers,
            embedder=self._library_embedder,
            memory_limit=self.memory.files,
            largest=int(self.settings.file_megabytes * 1e6),
        )

    @cached_property
    def library(self) -> Library:
        """The document library: ingest, list, search, delete."""
        from core.features.library.ingests import IngestLimits
        from core.features.library.library import Library
        from core.features.library.services.ingest_workers import ReadOnWorkers

        return Library(
            folder=self.settings.folder,
            collections=self.collections,
            embedder=self._library_embedder,
            workers=self.workers,
            web=self.web,
            limits=IngestLimits.from_settings(self.settings, self._folders),
            jobs=ReadOnWorkers(self._jobs) if self._jobs else None,
        )

    async def _library_embedder(self, access: Access | None, collection: str) -> Embed:
        """Return a collection's embedder without the vector cache.

        The collections themselves hold a library's vectors.
        """
        access = access or NO_ACCESS
        redact(access.api_key)
        embed = (await self.models.embedder(access, (collection,))).embed
        if self._jobs is None:
            return embed
        from core.features.library.services.ingest_workers import CLUSTER

        self.egress.require(CLUSTER, self._jobs.host, (collection,))
        return embed_on(self._jobs, embed)

    async def warm(self) -> None:
        """Start workers and models before the first run."""
        demo = self.searches.demo_search("warm", SearchKnobs())
        await asyncio.gather(self.workers.start(), demo, self.models.warm())

    async def aclose(self) -> None:
        """Write the caches to disk, and close started connections and processes."""
        async with AsyncExitStack() as closing:  # closes in reverse order, and goes on after an error
            closing.callback(self.cache.close)
            for name in _CONNECTIONS:
                if name in vars(self):
                    closing.push_async_callback(getattr(self, name).aclose)
            closing.push_async_callback(self.write_cache.flush)
            if "library" in vars(self):
                closing.push_async_callback(self.library.aclose)
