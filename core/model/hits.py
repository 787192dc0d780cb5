"""What was searched and found: queries, results, hits with their lineage."""

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
    """Who wrote a query."""

    MODEL = "model"
    QUESTION = "question"
    PERSON = "person"
    CONVERSATION = "conversation"
    """Nobody: the query stands for the pages of earlier turns, which are its results."""
    AGENT = "agent"
    """Nobody: the query stands for the addresses that an agent opened by itself, which are its results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search query, and who wrote it."""

    text: str
    author: Author
    library: bool = False
    """Whether an agent searched the library for it, and nothing else."""


# --- search -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One row of one search reply, as the backend gave it. `rank` counts from 1."""

    url: str
    title: str
    snippet: str
    rank: int
    engines: tuple[str, ...] = ()
    published: str | None = None
    collection: str = ""
    """The collection that it is a passage of; empty for a page of the web."""
    similarity: float | None = None
    """The cosine similarity that the vector database gave; None for a page of the web."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchReply:
    """What one query found. `unresponsive_engines` names engines that did not answer, with the reason they gave.

    `unknown_engines` names engines and categories of the knobs that the backend does not have.
    """

    backend: str
    results: tuple[Result, ...]
    unresponsive_engines: tuple[tuple[str, str], ...] = ()
    usage: ModelUsage | None = None
    """What embedding the query took, where collections were searched."""
    unknown_engines: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    """What the search engine itself answers, in words."""
    corrections: tuple[str, ...] = ()
    """The query in other spelling, as the search engine corrects it."""
    suggestions: tuple[str, ...] = ()
    """Other queries that the search engine suggests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitOrigin:
    """One line of a hit's lineage: which query found it, at which rank, through which engines."""

    query: str
    rank: int
    engines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One address, however many queries found it. `key` is its canonical form and its name in the run."""

    key: str
    url: str
    title: str
    snippet: str
    found: tuple[HitOrigin, ...]
    score: float
    """Reciprocal rank fusion over the queries that found it."""
    published: str | None = None
    collection: str = ""
    """The collection that it is a passage of; empty for a page of the web."""
    similarity: float | None = None
    """The highest cosine similarity that the vector database gave; None for a page of the web."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """A hit that was not read, and why."""

    key: str
    url: str
    reason: SkipReason
    detail: str = ""
    seconds: float = 0.0
