"""The document library for the pages: collections, example questions, permissions."""

from collections.abc import Callable
from contextlib import suppress

from cachetools.func import ttl_cache

from core.config.permissions import Action
from core.errors import OpenQueryError
from core.features.library.library import Library
from core.features.library.services.connections import LibraryConnections
from core.model import LibraryDocument
from core.runtime.registry import RunRegistry
from pages.parts import runtime


def library() -> Library:
    """The library of this process."""
    return runtime.runs().engine.part(LibraryConnections).library


def may_change_library() -> bool:
    """Whether the visitor may add and delete documents."""
    return runtime.caller().may(Action.CHANGE_LIBRARY)


def file(document: LibraryDocument) -> tuple[Callable[[], bytes], str, str]:
    """Return a stored document's reader, file name and media type."""
    return (
        lambda: runtime.runs().call(library().file(document.key), timeout=20).body,
        document.source.rpartition("/")[2] or "document",
        "application/octet-stream",
    )


def collections() -> tuple[str, ...]:
    """Return the names of the collections.

    Empty if the library does not answer, an error that the Library page shows.
    """
    return _collections(runtime.runs())


def example_questions(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return example questions about these collections, or about all.

    Without `names`, all collections are used. Empty if the library does not answer.
    """
    return _example_questions(runtime.runs(), names)


def forget_collections() -> None:
    """Forget the cached collection names and example questions."""
    _collections.cache_clear()
    _example_questions.cache_clear()


# Streamlit's own cache warns when created outside a server, and these caches are created on import.
@ttl_cache(ttl=5)
def _collections(registry: RunRegistry) -> tuple[str, ...]:
    with suppress(OpenQueryError):
        return tuple(registry.call(registry.engine.part(LibraryConnections).database.names(), timeout=3))
    return ()


@ttl_cache(ttl=5)
def _example_questions(registry: RunRegistry, names: tuple[str, ...]) -> tuple[str, ...]:
    with suppress(OpenQueryError):
        return registry.call(
            registry.engine.part(LibraryConnections).library.example_questions(names), timeout=3
        )
    return ()
