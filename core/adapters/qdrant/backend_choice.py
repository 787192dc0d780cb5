"""The vector database of the library: embedded, or a Qdrant server."""

from core.adapters.qdrant.edge_collections import EdgeCollections
from core.adapters.qdrant.server_collections import ServerCollections
from core.config.settings import Settings


def collections(settings: Settings) -> EdgeCollections | ServerCollections:
    """The server that the operator named, else a folder below the data folder.

    Nothing is opened or connected before it is used.

    Raises:
        BadInput: when the address or the key cannot be one.
    """
    if settings.qdrant_url:
        return ServerCollections(settings.qdrant_url, settings.qdrant_api_key)
    return EdgeCollections(settings.folder / "library")
