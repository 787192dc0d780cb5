"""The choice of the collections that a run searches and reads."""

from collections.abc import Callable

import httpx
from cachetools import LRUCache

from core.adapters.models.model_http import plain_key
from core.adapters.qdrant.edge_collections import EdgeCollections
from core.adapters.qdrant.server_collections import ServerCollections
from core.config.access import Access, Admission
from core.config.settings import Settings
from core.library.search_ports import SearchableCollections
from core.library.session_files import SessionFiles

VISITORS_SERVERS = 64
"""Visitors' own Qdrant servers of which passages are in memory."""


class CollectionChoice:
    """The collections of the operator's vector database, of visitors' own Qdrant servers, and of session files."""

    def __init__(
        self,
        settings: Settings,
        admission: Admission,
        database: EdgeCollections | ServerCollections,
        client: Callable[[], httpx.AsyncClient],
    ) -> None:
        """`client` gives the HTTP connection pool, once a server is asked."""
        self._settings, self._admission, self._client = settings, admission, client
        self.operators = SearchableCollections(database)
        self._visitors: LRUCache[tuple[str, str], SearchableCollections] = LRUCache(VISITORS_SERVERS)

    def for_visitor(self, access: Access) -> SearchableCollections:
        """The collections that a visitor's questions search: their session's files, and their own Qdrant server's or the operator's.

        Raises:
            BadInput: when the visitor's address may not be called, or address or key cannot be one.
        """
        searchable = self.on_own_server(access) if access.qdrant_url else self.operators
        return (
            files.combined_with(searchable) if isinstance(files := access.files, SessionFiles) else searchable
        )

    def on_own_server(self, access: Access) -> SearchableCollections:
        """The collections of the visitor's own Qdrant server. Raises as above."""
        self._admission.check_service(access.qdrant_url, self._settings.qdrant_url, "Qdrant", "QDRANT_URL")
        name = (access.qdrant_url, plain_key(access.qdrant_api_key))
        if (searchable := self._visitors.get(name)) is None:
            server = ServerCollections(access.qdrant_url, access.qdrant_api_key, client=self._client())
            searchable = self._visitors[name] = SearchableCollections(server)
        return searchable
