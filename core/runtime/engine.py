"""Wire settings into ports. Adapters are chosen only here and in `core.runtime.wiring`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from functools import cached_property
from typing import TypeVar, cast

import httpx

from core.adapters.cache.disk_cache import DiskCache
from core.adapters.cache.embedding_cache import CachedEmbed
from core.adapters.cache.page_cache import CachedExtract, CachedWeb
from core.adapters.cache.write_behind_cache import WriteBehindCache
from core.adapters.certificates import trusted_certificates
from core.adapters.web.demo_pages import DemoWeb, RoutedWeb
from core.adapters.web.extraction_pool import ExtractionPool
from core.adapters.web.networks import AddressAllowlist
from core.adapters.web.safe_client import SafeWeb
from core.config.access import NO_ACCESS, Access, AccessPolicy
from core.config.egress import EVERY_COLLECTION, EgressPolicy, searched_origins
from core.config.knobs import Knobs, SearchKnobs
from core.config.memory import memory_budget
from core.config.settings import HANDBOOK, Settings
from core.errors import LibraryFailed
from core.ports import Ports
from core.run.state import Run
from core.runtime.engine_parts import EnginePart
from core.runtime.features import features
from core.runtime.logs import redact
from core.runtime.wiring.model_checks import ModelChecks
from core.runtime.wiring.model_servers import ModelServers
from core.runtime.wiring.models import Models
from core.runtime.wiring.searches import Searches
from core.sandbox.process import limit_malloc_arenas
from core.storage.price_file import PriceFile

P = TypeVar("P", bound=EnginePart)
_CONNECTIONS = ("client", "models", "web", "workers")
"""The parts that hold connections or processes, users after the parts they use. They are closed in reverse."""


class Engine(AbstractAsyncContextManager["Engine"]):
    """The connections, extraction workers, caches and embedders that all runs of a process share.

    Everything expensive starts on first use. All coroutines belong to one event loop.
    """

    def __init__(self, settings: Settings) -> None:
        """Create the engine without starting its parts."""
        limit_malloc_arenas()
        self.settings = settings
        self.access_policy = AccessPolicy(settings)
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
        ports = Ports(
            search=await self.searches.port(
                knobs, access, may_be_missing=run is not None and bool(run.pages)
            ),
            web=RoutedWeb(self._handbook, CachedWeb(self.web, self.write_cache)),
            extract=CachedExtract(self.workers, self.write_cache),
            embed=embed,
            multilingual=self.models.multilingual_for(embed),
            chat=chat,
            rerank=rerank,
            egress=self.egress,
            egress_note=note,
            prices=self.prices.read(),
        )
        for part in self._parts.values():
            ports = await part.wrap_ports(ports, embed, knobs, access)
        return ports

    @cached_property
    def _parts(self) -> dict[type, EnginePart]:
        parts = [feature.connect(self) for feature in features() if feature.connect]
        return {type(part): part for part in parts}

    def part(self, kind: type[P]) -> P:
        """Return the part that a feature adds, such as `LibraryConnections`.

        Raises:
            LookupError: when no feature has such a part.
        """
        if kind not in self._parts:
            raise LookupError(f"no feature adds {kind.__name__} to an engine")
        return cast("P", self._parts[kind])

    async def embedder_of(self, run: Run, access: Access = NO_ACCESS) -> CachedEmbed:
        """Return the embedder that matches a run's vectors.

        It is the multilingual embedder if that made the run's index, otherwise the current embedder for the run's
        origins. Raises the errors of `Models.embedder`.
        """
        embed = await self.models.embedder(access, run.origins)
        multilingual = self.models.multilingual_for(embed)
        return (
            multilingual
            if multilingual and run.index and run.index.embedder == multilingual.identity
            else embed
        )

    async def origins(self, search: SearchKnobs, access: Access, run: Run | None = None) -> frozenset[str]:
        """Return the possible origins of a run's texts. They are where it searches and where its texts come from."""
        origins = searched_origins(search) | (run.origins if run else frozenset())
        if EVERY_COLLECTION in origins and self.egress.private:
            with suppress(LibraryFailed):  # the search reports the error, and unknown names stay private
                names = [name for part in self._parts.values() for name in await part.collections(access)]
                origins = origins - {EVERY_COLLECTION} | set(names)
        return origins

    @cached_property
    def client(self) -> httpx.AsyncClient:
        """The HTTP connection pool to configured servers. It follows no redirects and uses no proxy."""
        return httpx.AsyncClient(follow_redirects=False, trust_env=False, verify=trusted_certificates(httpx))

    @cached_property
    def models(self) -> Models:
        """Chat clients, embedders and the reranker."""
        servers = ModelServers(self.settings, self.access_policy)
        return Models(self.settings, servers, self.egress, self.write_cache, lambda: self.client)

    @cached_property
    def model_checks(self) -> ModelChecks:
        """The check whether the chat model answers."""
        return ModelChecks(self.models)

    @cached_property
    def searches(self) -> Searches:
        """The searches of the web."""
        return Searches(
            self.settings, self.access_policy, lambda: self.client, lambda: self.models.multilingual
        )

    @cached_property
    def _handbook(self) -> DemoWeb:
        return DemoWeb(HANDBOOK)

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
            for part in vars(self).get("_parts", {}).values():
                closing.push_async_callback(part.aclose)
