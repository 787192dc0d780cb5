"""The library's part of an engine: collections, files of sessions and ingests."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from core.adapters.cache.embedding_cache import CachedEmbed
from core.adapters.models.embed_on_workers import embed_on
from core.adapters.models.model_http import plain_key
from core.adapters.workers.jobs import Workers
from core.config.access import NO_ACCESS, Access, AccessPolicy
from core.config.clusters import CLUSTER
from core.config.knobs import Knobs, SearchScope
from core.config.run_knobs import Method
from core.config.settings import Settings
from core.errors import BadInput, LibraryFailed
from core.features.library.passage_documents import CollectionExtract, CollectionFetcher
from core.features.library.qdrant.edge_collections import EdgeCollections
from core.features.library.qdrant.server_collections import ServerCollections
from core.features.library.search_ports import LibrarySearch, SearchableCollections, WebAndLibrary
from core.features.library.session_files import SessionFiles, SessionFilesPool
from core.ports import Embed, Ports, Search
from core.runtime.logs import redact
from core.runtime.wiring.client_pool import ClientPool

if TYPE_CHECKING:
    from core.features.library.library import Library
    from core.runtime.engine import Engine


_CONNECTIONS = ("searchable", "database", "library")
"""The parts that hold connections or processes, users after the parts they use. They are closed in reverse."""


class LibraryConnections:
    """The collections and files that runs search and read. Everything starts on first use."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._jobs: Workers | None = None
        self._folders: tuple[Path, ...] = ()

    def ingest_with(self, jobs: Workers | None = None, folders: Sequence[Path] = ()) -> None:
        """Read, split and embed on `jobs`, and allow these folders too. Called before the first use of `library`.

        The jobs outlive the engine. The folders are added to those of the settings.
        """
        self._jobs, self._folders = jobs, tuple(folders)

    @cached_property
    def database(self) -> EdgeCollections | ServerCollections:
        """The operator's vector database: a Qdrant server, or an embedded database in the data folder.

        Raises:
            BadInput: when the server's address or key cannot be one.
        """
        settings = self._engine.settings
        if settings.qdrant_url:
            return ServerCollections(settings.qdrant_url, settings.qdrant_api_key)
        return EdgeCollections(settings.folder / "library")

    @cached_property
    def searchable(self) -> CollectionChoice:
        """The collections that runs search and read."""
        return CollectionChoice(self._engine.settings, self._engine.access_policy, self.database)

    @cached_property
    def session_files(self) -> SessionFilesPool:
        """The files of all sessions."""
        return SessionFilesPool(
            extract=self._engine.workers,
            embedder=self._embedder,
            memory_limit=self._engine.memory.files,
            largest=int(self._engine.settings.file_megabytes * 1e6),
        )

    @cached_property
    def library(self) -> Library:
        """The document library: ingest, list, search, delete."""
        from core.features.library.ingests import IngestLimits
        from core.features.library.library import Library
        from core.features.library.services.ingest_workers import ReadOnWorkers

        return Library(
            folder=self._engine.settings.folder,
            collections=self.database,
            embedder=self._embedder,
            workers=self._engine.workers,
            web=self._engine.web,
            limits=IngestLimits.from_settings(self._engine.settings, self._folders),
            jobs=ReadOnWorkers(self._jobs) if self._jobs else None,
        )

    async def wrap_ports(self, ports: Ports, embed: CachedEmbed, knobs: Knobs, access: Access) -> Ports:
        """Return the ports with the collections that the knobs and the visitor choose. See `EnginePart`."""
        searchable = self.searchable.for_visitor(access)
        in_collections = LibrarySearch(searchable, embed, knobs.rank.top_k)
        search: Search = ports.search
        if knobs.search.origin is SearchScope.LIBRARY:
            search = in_collections
        elif knobs.search.origin is SearchScope.BOTH:
            search = WebAndLibrary(ports.search, in_collections)
        agents = await self._may_be_read_by_agent(ports, embed, knobs, searchable)
        return replace(
            ports,
            search=search,
            web=CollectionFetcher(searchable, ports.web),
            extract=CollectionExtract(ports.extract),
            library=in_collections if agents else None,
        )

    async def _may_be_read_by_agent(
        self, ports: Ports, embed: CachedEmbed, knobs: Knobs, searchable: SearchableCollections
    ) -> bool:
        """Return whether the models of an agent may read a collection that it searches beside the web."""
        chat = ports.chat
        if chat is None or knobs.run.method is not Method.AGENT or knobs.search.origin is not SearchScope.WEB:
            return False
        try:
            names = knobs.search.collections or await searchable.collections.names()
            withheld = [self._engine.egress.withheld(port.host, names) for port in (chat, embed)]
        except (BadInput, LibraryFailed):  # the policy refuses, or the database is missing
            return False
        return bool(set(names).difference(*withheld))

    async def collections(self, access: Access) -> tuple[str, ...]:
        """Return the names of the collections that a visitor's run can search. See `EnginePart`."""
        return await self.searchable.for_visitor(access).collections.names()

    async def _embedder(self, access: Access | None, collection: str) -> Embed:
        """Return a collection's embedder without the vector cache.

        The collections themselves hold a library's vectors.
        """
        access = access or NO_ACCESS
        redact(access.api_key)
        embed = (await self._engine.models.embedder(access, (collection,))).embed
        if self._jobs is None:
            return embed
        self._engine.egress.require(CLUSTER, self._jobs.host, (collection,))
        return embed_on(self._jobs, embed)

    async def aclose(self) -> None:
        """Close started connections and processes, and go on after an error."""
        async with AsyncExitStack() as closing:
            for name in _CONNECTIONS:
                if name in vars(self):
                    closing.push_async_callback(getattr(self, name).aclose)


QDRANT_CLIENTS = 64
"""The most pooled clients of visitors' own Qdrant servers."""


class VisitorCollections(SearchableCollections):
    """Searchable collections of a pooled client, on a visitor's own Qdrant server."""

    def __init__(self, client: ServerCollections) -> None:
        super().__init__(client)
        self.client = client


class CollectionChoice:
    """The collections of the operator's database, visitors' servers and session files."""

    def __init__(
        self, settings: Settings, access_policy: AccessPolicy, database: EdgeCollections | ServerCollections
    ) -> None:
        self._settings, self._access_policy = settings, access_policy
        self.operators = SearchableCollections(database)
        self._visitors = ClientPool[VisitorCollections](QDRANT_CLIENTS)

    def for_visitor(self, access: Access) -> SearchableCollections:
        """Return the collections that a visitor's questions search.

        They are the session's files, and the collections of the visitor's own Qdrant server or the operator's database.

        Raises:
            BadInput: when the visitor's address may not be called, or address or key cannot be one.
        """
        searchable = self.on_own_server(access) if access.qdrant_url else self.operators
        return (
            files.combined_with(searchable) if isinstance(files := access.files, SessionFiles) else searchable
        )

    def on_own_server(self, access: Access) -> VisitorCollections:
        """Return the collections of the visitor's own Qdrant server.

        Its client is pooled. Raises the errors of `for_visitor`.
        """
        self._access_policy.check_service(
            access.qdrant_url, self._settings.qdrant_url, "Qdrant", "QDRANT_URL"
        )

        def connect() -> tuple[VisitorCollections, ServerCollections]:
            client = ServerCollections(access.qdrant_url, access.qdrant_api_key)
            return VisitorCollections(client), client

        return self._visitors.get((access.qdrant_url, plain_key(access.qdrant_api_key)), connect)

    async def aclose(self) -> None:
        """Close the clients of visitors' own servers."""
        await self._visitors.aclose()
