"""The library of documents, as the pages use it: names of collections, example questions, who may change it."""

from collections.abc import Callable
from contextlib import suppress

from cachetools.func import ttl_cache

from core.config.permissions import Action
from core.errors import OpenQueryError
from core.library.library import Library
from core.model import LibraryDocument
from core.runtime.registry import RunRegistry
from pages.parts import runtime


def library() -> Library:
    """The library of this process."""
    return runtime.runs().engine.library


def may_change_library() -> bool:
    """Whether the visitor may add and delete documents."""
    return runtime.caller().may(Action.CHANGE_LIBRARY)


def file(document: LibraryDocument) -> tuple[Callable[[], bytes], str, str]:
    """What reads the file of a stored document, the name that it is saved under, and its media type."""
    return (
        lambda: runtime.runs().call(library().file(document.key), timeout=20).body,
        document.source.rpartition("/")[2] or "document",
        "application/octet-stream",
    )


def collections() -> tuple[str, ...]:
    """Names of the collections; empty when the library does not answer (the Library page shows the error)."""
    return _collections(runtime.runs())


def example_questions(names: tuple[str, ...]) -> tuple[str, ...]:
    """Questions about documents of these collections, or of all where there are no names; empty as above."""
    return _example_questions(runtime.runs(), names)


def forget_collections() -> None:
    """Read the names of the collections, and what is in them, anew."""
    _collections.cache_clear()
    _example_questions.cache_clear()


# Streamlit's own cache warns where it is made outside of a server, and these are made when the server is imported.
@ttl_cache(ttl=5)
def _collections(registry: RunRegistry) -> tuple[str, ...]:
    with suppress(OpenQueryError):
        return tuple(registry.call(registry.engine.collections.names(), timeout=3))
    return ()


@ttl_cache(ttl=5)
def _example_questions(registry: RunRegistry, names: tuple[str, ...]) -> tuple[str, ...]:
    with suppress(OpenQueryError):
        return registry.call(registry.engine.library.example_questions(names), timeout=3)
    return ()
