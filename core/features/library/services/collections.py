"""Choose the collections that a run searches and reads."""

from core.adapters.models.model_http import plain_key
from core.config.access import Access, AccessPolicy
from core.config.settings import Settings
from core.features.library.qdrant.edge_collections import EdgeCollections
from core.features.library.qdrant.server_collections import ServerCollections
from core.features.library.search_ports import SearchableCollections
from core.features.library.session_files import SessionFiles
from core.runtime.choices.client_pool import ClientPool

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
        self, settings: Settings, admission: AccessPolicy, database: EdgeCollections | ServerCollections
    ) -> None:
        self._settings, self._admission = settings, admission
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
        self._admission.check_service(access.qdrant_url, self._settings.qdrant_url, "Qdrant", "QDRANT_URL")

        def connect() -> tuple[VisitorCollections, ServerCollections]:
            client = ServerCollections(access.qdrant_url, access.qdrant_api_key)
            return VisitorCollections(client), client

        return self._visitors.get((access.qdrant_url, plain_key(access.qdrant_api_key)), connect)

    async def aclose(self) -> None:
        """Close the clients of visitors' own servers."""
        await self._visitors.aclose()
