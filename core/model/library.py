"""What a library holds: collections of passages, each with its vector, cut from documents."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass

from core.errors import BadInput
from core.model.arrays import Floats

DEFAULT_COLLECTION = "book_content"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SPACE = uuid.UUID("9a6e2f0c-64d5-4a38-9f5b-2c1a3f0a7d11")


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
    """Its place among the document's passages, counted from 0."""
    embedder: str = ""
    """The identity of the model behind its vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A passage found by its vector. `score` is the collection's own cosine to what was asked."""

    passage: LibraryPassage
    score: float
    vector: Floats
    """Unit length, float32, read-only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A collection as its store describes it. `distance` is in lower case: cosine, dot, euclid, manhattan.

    `embedder` is that of its first passage; empty when there is none, or when another tool filled it.
    """

    name: str
    width: int
    distance: str
    passages: int
    embedder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentCount:
    """A document as a collection knows it: the source's name and how many passages stand there.

    `document` is empty where another tool filled the collection and wrote none.
    """

    source: str
    document: str
    passages: int


def checked_name(name: str) -> str:
    """A collection's name without surrounding white space.

    Raises:
        BadInput: when it is not 1 to 100 letters, digits, dots, hyphens and underscores.
    """
    name = name.strip()
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"“{name[:100]}” cannot be a collection's name.",
            hint="Use 1 to 100 letters, digits, dots, hyphens and underscores, beginning with a letter or digit.",
        )
    return name


def passage_id(document: str, position: int, embedder: str) -> str:
    """The same passage of the same document by the same model has the same id: adding it twice is once."""
    return str(uuid.uuid5(_SPACE, f"{document}\0{position}\0{embedder}"))
