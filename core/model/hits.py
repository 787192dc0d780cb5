"""Queries, search results, and hits with their origins."""

from dataclasses import dataclass
from enum import StrEnum

from core.model.pages import SkipReason
from core.model.usage import ModelUsage


class Phase(StrEnum):
    """The steps of a run, in the order in which they first begin."""

    PLAN = "plan"
    SEARCH = "search"
    READ = "read"
    CHUNK = "chunk"
    EMBED = "embed"
    RANK = "rank"
    ANSWER = "answer"
    CHECK = "check"


class Author(StrEnum):
    """The author of a query."""

    MODEL = "model"
    QUESTION = "question"
    PERSON = "person"
    CONVERSATION = "conversation"
    """No author. The query's results are the pages of earlier turns."""
    AGENT = "agent"
    """No author. The query's results are the addresses that an agent opened by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search query with its author."""

    text: str
    author: Author
    library: bool = False
    """Whether an agent searched only the library for it."""


# --- search -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One row of a search reply from the backend. `rank` counts from 1."""

    url: str
    title: str
    snippet: str
    rank: int
    engines: tuple[str, ...] = ()
    published: str | None = None
    collection: str = ""
    """The collection of a passage, or "" for a page of the web."""
    similarity: float | None = None
    """The cosine similarity by the vector database, or None for a page of the web."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchReply:
    """The reply to one query. `unresponsive_engines` names engines that did not answer, with their reasons.

    `unknown_engines` names engines and categories of the knobs that the backend does not have.
    """

    backend: str
    results: tuple[Result, ...]
    unresponsive_engines: tuple[tuple[str, str], ...] = ()
    usage: ModelUsage | None = None
    """The usage of embedding the query, if collections were searched."""
    unknown_engines: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    """Answers of the search engine itself."""
    corrections: tuple[str, ...] = ()
    """Corrected spellings of the query by the search engine."""
    suggestions: tuple[str, ...] = ()
    """Other queries that the search engine suggests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitOrigin:
    """The origin of a hit: query, rank and engines."""

    query: str
    rank: int
    engines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A found address, with all queries that found it. `key` is its canonical form and its name in the run."""

    key: str
    url: str
    title: str
    snippet: str
    found: tuple[HitOrigin, ...]
    score: float
    """Reciprocal rank fusion over the queries that found it."""
    published: str | None = None
    collection: str = ""
    """The collection of a passage, or "" for a page of the web."""
    similarity: float | None = None
    """The highest cosine similarity by the vector database, or None for a page of the web."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """A hit that was not read, with the reason."""

    key: str
    url: str
    reason: SkipReason
    detail: str = ""
    seconds: float = 0.0
