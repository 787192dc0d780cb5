"""Values of the replies: collections, documents, ingests and found passages."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from core.errors import LibraryFailed
from core.features.api.strict_json import copied
from core.features.library.ingests import Ingest, IngestAction, IngestState, TaskState
from core.features.library.search_ports import shown_text, title_of
from core.model import Collection, LibraryDocument, Neighbour


class CollectionView(BaseModel):
    """A collection of documents."""

    name: str
    passages: int = 0
    dimensions: int = 0
    """The number of dimensions of its vectors."""
    distance: str = ""
    embedder: str = ""
    """The model of its vectors, or "" if unknown."""
    problem: str = ""
    """The reason that the collection cannot be opened, or ""."""


def collection_view(name: str, described: Collection | LibraryFailed) -> CollectionView:
    """Return a collection, or the problem of opening it."""
    if isinstance(described, LibraryFailed):
        return CollectionView(name=name, problem=str(described))
    return copied(CollectionView, described, name=name, dimensions=described.width)


class DocumentView(BaseModel):
    """A document of a collection."""

    id: str
    """The SHA-256 of the bytes, or `source:` and the source if another tool added the document."""
    source: str
    """The name of its file, or the address that it was read from."""
    title: str
    url: str
    media_type: str
    size: int
    """Bytes."""
    pages: int
    passages: int
    embedder: str
    added_at: str
    """The time of adding in ISO 8601, UTC, or ""."""
    left_out: str
    """The unread parts of the file, or ""."""
    stored: bool
    """Whether `/file` returns the bytes."""


def document_view(document: LibraryDocument) -> DocumentView:
    """Return a document as replies have it."""
    return copied(DocumentView, document, id=document.key)


class TaskView(BaseModel):
    """A document on its way into a collection."""

    name: str
    state: TaskState
    reason: str
    """The reason of a failure or a skip, or the omitted parts."""
    document: str
    """The `id` of the document, or "" before the bytes are known."""
    pages: int
    passages: int


class IngestView(BaseModel):
    """An ingest: documents on their way into a collection."""

    id: str
    collection: str
    action: IngestAction
    state: IngestState
    message: str
    """The reason of an interruption, with a hint."""
    started: str
    seconds: float
    documents: dict[TaskState, int]
    """The number of documents in each state."""
    passages: int
    tasks: list[TaskView]

    @property
    def is_live(self) -> bool:
        """Whether a process works on it."""
        return self.state is IngestState.LIVE


def ingest_view(ingest: Ingest) -> IngestView:
    """Return an ingest as replies have it."""
    return copied(
        IngestView,
        ingest,
        seconds=round(ingest.seconds, 3),
        documents=dict(ingest.counts),
        tasks=[copied(TaskView, task) for task in ingest.tasks],
    )


class FoundPassage(BaseModel):
    """A passage with its cosine similarity to the words of a search."""

    id: str
    score: float
    """The cosine similarity, from -1 to 1."""
    text: str
    title: str
    section: str
    source: str
    url: str
    page: int | None
    """The page of a paged document, from 1."""
    document: str
    """The `id` of the document, or ""."""
    metadata: dict[str, Any]
    """The stored fields of the passage in the vector database."""


def found_passage(neighbour: Neighbour) -> FoundPassage:
    """Return a found passage as replies have it."""
    passage = neighbour.passage
    return copied(
        FoundPassage,
        passage,
        score=neighbour.score,
        text=shown_text(passage),
        title=title_of(passage),
        metadata=dict(passage.metadata),
    )
