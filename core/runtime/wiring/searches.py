"""Choose the search of the web for a run."""

from collections.abc import Callable

import httpx

from core.adapters.search.ddgs_search import Ddgs, DefaultBackend
from core.adapters.search.demo_search import DemoSearch
from core.adapters.search.searxng import SearxNG
from core.adapters.search.searxng_reply import Instances
from core.adapters.search.within_sites import WithinSites
from core.config.access import NO_ACCESS, Access, AccessPolicy
from core.config.knobs import Backend, Knobs, SearchKnobs, SearchScope
from core.config.settings import HANDBOOK, Settings
from core.errors import SearchFailed
from core.model import SearchReply
from core.ports import Embed, Search
from core.run.state import Run


class _MissingSearch:
    """A missing search, for a run with pages from elsewhere."""

    identity = ""

    def __init__(self, error: SearchFailed) -> None:
        self._error = error

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        raise self._error


class Searches:
    """The searches of visitors' runs: SearXNG, ddgs and the demo library."""

    def __init__(
        self,
        settings: Settings,
        access_policy: AccessPolicy,
        client: Callable[[], httpx.AsyncClient],
        multilingual: Callable[[], Embed],
    ) -> None:
        """Set the services. They are created on first use.

        `client` returns the HTTP connection pool, and `multilingual` an embedder for the demo library.
        """
        self._settings, self._access_policy = settings, access_policy
        self._client = client
        self.demo_search = DemoSearch(HANDBOOK, multilingual)
        self._default = DefaultBackend()
        self._searxng_configs = Instances()

    async def port(self, knobs: Knobs, access: Access = NO_ACCESS, *, may_be_missing: bool = False) -> Search:
        """Return the search of the web. It fails if `knobs.search.origin` excludes the web.

        Raises:
            SearchFailed: when no SearXNG is connected. With `may_be_missing`, the search raises it when it is used.
        """
        if knobs.search.origin is SearchScope.LIBRARY:
            return _MissingSearch(
                SearchFailed("This installation has no document library.", hint="Search the web instead.")
            )
        backend = await self.resolve_backend(knobs.search.backend, access)
        try:
            web = self.web_search(backend, access)
        except SearchFailed as error:
            if not may_be_missing:
                raise
            web = _MissingSearch(error)
        if knobs.rank.only_domains or knobs.rank.without_domains:
            web = WithinSites(web, knobs.rank, operators=backend is not Backend.DEMO)
        return web

    async def resolve_backend(self, backend: Backend, access: Access = NO_ACCESS) -> Backend:
        """Resolve `auto` to a backend. It means the connected SearXNG, or without it ddgs or the demo library.

        A failing SearXNG is never replaced, because somebody connected it on purpose.
        """
        if backend is not Backend.AUTO:
            return backend
        if self.searxng_url(access):
            return Backend.SEARXNG
        return await self._default.choose()

    def alternative_backends(self, run: Run, access: Access = NO_ACCESS) -> tuple[Backend, ...]:
        """Return other backends to offer after a failed or empty search."""
        knobs, connected = run.knobs.search, bool(self.searxng_url(access))
        failed = next((backend for backend in Backend if backend == run.backend), knobs.backend)
        if failed is Backend.AUTO:
            failed = Backend.SEARXNG if connected else Backend.DDGS
        offered = (*((Backend.SEARXNG,) if connected else ()), Backend.DDGS, Backend.DEMO)
        return (
            ()
            if knobs.origin is SearchScope.LIBRARY
            else tuple(backend for backend in offered if backend is not failed)
        )

    def searxng_url(self, access: Access = NO_ACCESS) -> str:
        """Return the visitor's SearXNG address, or the operator's, or ""."""
        return access.searxng_url or self._settings.searxng_url

    def web_search(self, backend: Backend, access: Access = NO_ACCESS) -> Search:
        """Return the search of a backend, which must not be `auto`."""
        match backend:
            case Backend.SEARXNG:
                return self.searxng(access)
            case Backend.DDGS:
                return Ddgs(timeout=self._settings.search_timeout)
            case Backend.DEMO:
                return self.demo_search
            case Backend.AUTO:
                raise ValueError("auto names no backend: resolve it first")

    def searxng(self, access: Access = NO_ACCESS) -> SearxNG:
        """Return the visitor's SearXNG, or the operator's, with its own credentials only.

        Raises:
            BadInput: when the visitor's address may not be called, or is not an address.
            SearchFailed: when no SearXNG is connected.
        """
        settings = self._settings
        if access.searxng_url:
            self._access_policy.check_service(
                access.searxng_url, settings.searxng_url, "SearXNG", "SEARXNG_URL"
            )
            address_and_login = access.searxng_url, access.searxng_username, access.searxng_password
        elif settings.searxng_url:
            address_and_login = settings.searxng_url, settings.searxng_username, settings.searxng_password
        else:
            raise SearchFailed(
                "No SearXNG is connected.", hint="Set SEARXNG_URL to its address, or pick another backend."
            )
        url, username, password = address_and_login
        return SearxNG(
            url,
            username=username,
            password=password,
            timeout=settings.search_timeout,
            client=self._client(),
            configs=self._searxng_configs,
        )
