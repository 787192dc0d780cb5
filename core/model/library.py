"""Values of the document library: collections, their documents, and passages with their vectors."""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.errors import BadInput
from core.model.arrays import Floats

DEFAULT_COLLECTION = "book_content"

SOURCE_KEY = "source:"
"""How the key of a document begins that another tool added without an id."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SPACE = uuid.UUID("9a6e2f0c-64d5-4a38-9f5b-2c1a3f0a7d11")


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryPassage:
    """A passage of a document as a collection stores it. Only `id` and `content` are always set.

    Passages that another tool added have what that tool wrote; everything else is empty. Two passages that
    differ in `metadata` alone are equal: the other fields say how it is read.
    """

    id: str
    """The point's id: a UUID, or a number in decimal digits."""
    content: str
    source: str = ""
    """The file's name, or the address that it was read from."""
    section: str = ""
    url: str = ""
    title: str = ""
    author: str = ""
    language: str = ""
    page: int | None = None
    """In a paged document, counted from 1."""
    created_at: str = ""
    document: str = ""
    """The document it was cut from: the digest of the document's bytes."""
    position: int = 0
    """Its position among the document's passages, counted from 0."""
    embedder: str = ""
    """The identity of the model behind its vector."""
    metadata: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Every field that is stored with it, as it was written: JSON values. Empty until it is read from a collection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A passage found by its vector, with its cosine similarity to the query vector."""

    passage: LibraryPassage
    score: float
    vector: Floats
    """Unit length, float32, read-only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A collection as the vector database describes it.

    `width` is the number of dimensions; `distance` is cosine, dot, euclid or manhattan; `embedder` is that
    of the first passage, empty when there is none or another tool added it.
    """

    name: str
    width: int
    distance: str
    passages: int
    embedder: str = ""
    vector: str = ""
    """The name of its vectors; other tools give them one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryDocument:
    """A document in a collection. Of one that another tool added, only `source` and `passages` are known."""

    source: str
    """The file's name, or the address that it was read from."""
    passages: int
    digest: str = ""
    """The SHA-256 of its bytes in hexadecimal; of another tool's document what that wrote, or empty."""
    title: str = ""
    url: str = ""
    media_type: str = ""
    charset: str = ""
    size: int = 0
    """Bytes."""
    pages: int = 0
    """0 where it has none."""
    embedder: str = ""
    """The identity of the model behind its vectors."""
    added_at: str = ""
    """ISO 8601, UTC."""
    stored: bool = False
    """Whether its file is stored, so that it can be downloaded and its pages drawn."""

    @property
    def key(self) -> str:
        """What names it in the methods of `Library`: see `document_key`."""
        return document_key(self.digest, self.source)


def document_key(digest: str, source: str) -> str:
    """A document's name in its collection: its digest, or `source:` and its source where it has none."""
    return digest or f"{SOURCE_KEY}{source}"


def checked_name(name: str) -> str:
    """A collection's name, validated and without surrounding white space.

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
    """The UUID of a passage, derived from document, position and embedder, so that adding it twice is adding it once."""
    return str(uuid.uuid5(_SPACE, f"{document}\0{position}\0{embedder}"))
