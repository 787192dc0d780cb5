"""What a library holds: collections of excerpts, each with its vector, cut from documents."""

from __future__ import annotations

from dataclasses import dataclass

from core.model.arrays import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryPassage:
    """A passage of a document as a collection keeps it. Only `id`, a UUID, and `content` are always there.

    A collection that another tool filled has what that tool wrote; everything else is then empty.
    """

    id: str
    content: str
    source: str = ""
    """The file's name, or the address that it was read from."""
    section: str = ""
    url: str = ""
    title: str = ""
    page: int | None = None
    """In a paged document, counted from 1."""
    created_at: str = ""
    document: str = ""
    """Which document it was cut from: the digest of the document's bytes."""
    position: int = 0
    """Its place among the document's excerpts, counted from 0."""
    embedder: str = ""
    """The identity of the model behind its vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """An excerpt found by its vector. `score` is the collection's own cosine to what was asked."""

    excerpt: LibraryPassage
    score: float
    vector: Floats
    """Unit length, float32, read-only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A collection as its store describes it. `distance` is in lower case: cosine, dot, euclid, manhattan.

    `embedder` is that of its first excerpt; empty when there is none, or when another tool filled it.
    """

    name: str
    width: int
    distance: str
    excerpts: int
    embedder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentCount:
    """A document as a collection knows it: the source's name and how many excerpts stand there.

    `document` is empty where another tool filled the collection and wrote none.
    """

    source: str
    document: str
    excerpts: int
