"""Which vector database holds the library."""

from __future__ import annotations

from core.adapters.qdrant_edge import EdgeCollections
from core.ports import Collections
from core.settings import Settings


def collections(settings: Settings) -> Collections:
    """A folder below the data folder. Nothing is opened or connected before it is used."""
    return EdgeCollections(settings.folder / "library")
