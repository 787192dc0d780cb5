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
"""The prefix of a document key without an id, for documents that another tool added."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SPACE = uuid.UUID("9a6e2f0c-64d5-4a38-9f5b-2c1a3f0a7d11")


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryPassage:
    """A passage of a document in a collection. Only `id` and `content` are always set.

    Passages of another tool have the fields that it wrote, and other fields are empty. Two passages that differ only in
    `metadata` are equal, since the other fields are derived from it.
    """

    id: str
    """The point's id: a UUID, or a number in decimal digits."""
    content: str
    source: str = ""
    """The name of the file, or the address that it was read from."""
    section: str = ""
    url: str = ""
    title: str = ""
    author: str = ""
    language: str = ""
    page: int | None = None
    """The page number in a paged document, from 1."""
    created_at: str = ""
    document: str = ""
    """The digest of the document's bytes."""
    position: int = 0
    """The position among the document's passages, from 0."""
    embedder: str = ""
    """The identity of the model behind its vector."""
    metadata: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Every stored field as it was written, in JSON values. Empty until it is read from a collection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A passage found by its vector, with its cosine similarity to the query vector."""

    passage: LibraryPassage
    score: float
    vector: Floats
    """The unit vector, float32, read-only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A collection as the vector database describes it.

    `width` is the number of dimensions. `distance` is cosine, dot, euclid or manhattan. `embedder` belongs to the first
    passage. It is empty without passages, or if another tool added that passage.
    """

    name: str
    width: int
    distance: str
    passages: int
    embedder: str = ""
    vector: str = ""
    """The name of its vectors, which other tools set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryDocument:
    """A document in a collection. If another tool added it, only `source` and `passages` are known."""

    source: str
    """The name of the file, or the address that it was read from."""
    passages: int
    digest: str = ""
    """The SHA-256 of its bytes in hexadecimal. For another tool's document, the stored value or ""."""
    title: str = ""
    url: str = ""
    media_type: str = ""
    charset: str = ""
    size: int = 0
    """The size in bytes."""
    pages: int = 0
    """The number of pages, or 0 if it is not paged."""
    embedder: str = ""
    """The identity of the model behind its vectors."""
    added_at: str = ""
    """The time of adding in ISO 8601, UTC."""
    left_out: str = ""
    """Describes what the file has and was not read, or ""."""
    stored: bool = False
    """Whether its file is stored, so that it can be downloaded and its pages drawn."""

    @property
    def key(self) -> str:
        """The name for the methods of `Library`, see `document_key`."""
        return document_key(self.digest, self.source)


def document_key(digest: str, source: str) -> str:
    """Return a document's name in its collection. It is the digest, or `source:` and the source without a digest."""
    return digest or f"{SOURCE_KEY}{source}"


def checked_name(name: str) -> str:
    """Return a collection's valid name without surrounding white space.

    Raises:
        BadInput: when it is not 1 to 100 letters, digits, dots, hyphens and underscores, beginning with a letter or
            digit.
    """
    name = name.strip()
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"“{name[:100]}” cannot be a collection's name.",
            hint="Use 1 to 100 letters, digits, dots, hyphens and underscores, beginning with a letter or digit.",
        )
    return name


def passage_id(document: str, position: int, embedder: str) -> str:
    """Return the UUID of a passage.

    It depends on document, position and embedder, so that adding a passage twice stores it once.
    """
    return str(uuid.uuid5(_SPACE, f"{document}\0{position}\0{embedder}"))
