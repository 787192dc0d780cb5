"""The values of a run. All are frozen; web text in them is untrusted and plain, never markup."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import PlainSerializer, PlainValidator


def array_to_json(array: NDArray[Any]) -> dict[str, Any]:
    """`{"dtype", "shape", "base64"}`: exact, and a quarter of the size of the numbers written out."""
    data = np.ascontiguousarray(array).tobytes()
    return {"dtype": str(array.dtype), "shape": list(array.shape), "base64": base64.b64encode(data).decode()}


def _array_from_json(value: Any) -> NDArray[Any]:
    if not isinstance(value, np.ndarray):
        data = base64.b64decode(value["base64"], validate=True)
        value = np.frombuffer(data, dtype=np.dtype(value["dtype"])).reshape(value["shape"])
    array: NDArray[Any] = value
    array.flags.writeable = False
    return array


_as_json = (PlainValidator(_array_from_json), PlainSerializer(array_to_json, when_used="json"))
Floats = Annotated[NDArray[np.float32], *_as_json]
Rows = Annotated[NDArray[np.int64], *_as_json]


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


# --- plan -------------------------------------------------------------------------------------------------


class Author(StrEnum):
    """Who wrote a query."""

    MODEL = "model"
    QUESTION = "question"
    PERSON = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    text: str
    author: Author


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchReply:
    """What one query brought. `silent` names engines that did not answer, with the reason they gave."""

    backend: str
    results: tuple[Result, ...]
    silent: tuple[tuple[str, str], ...] = ()
    passed: tuple[tuple[str, str], ...] = ()
    """Preferred backends that did not work, each with the reason, when several were tried in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
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
    found: tuple[Found, ...]
    score: float
    """Reciprocal rank fusion over the queries that found it."""
    published: str | None = None


# --- read -------------------------------------------------------------------------------------------------


class SkipReason(StrEnum):
    """Why a page is not among the articles."""

    TIMEOUT = "timed out"
    DEADLINE = "phase deadline"
    CUT = "early cut"
    BLOCKED = "address not allowed"
    ROBOTS = "robots.txt"
    NETWORK = "network error"
    STATUS = "HTTP error"
    REDIRECTS = "redirects"
    TOO_LARGE = "too large"
    UNSUPPORTED = "not a readable type"
    BROKEN = "could not be parsed"
    CRASHED = "parser stopped"
    NEEDS_JAVASCRIPT = "needs JavaScript"
    CONSENT_WALL = "cookie wall"
    LOGIN_WALL = "login wall"
    NOT_FOUND = "soft 404"
    EMPTY = "no article text"


class Unreadable(Exception):
    """Raised by the `Web` and `Extract` ports: this page is skipped, and why."""

    def __init__(self, reason: SkipReason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A fetched body, decoded from its transfer coding and nothing else.

    `media_type` is lower case without parameters; `charset` is the header's own, unverified.
    """

    url: str
    """The address after redirects."""
    status: int
    media_type: str
    charset: str | None
    body: bytes
    keep: float = 0.0
    """Seconds for which the server lets this body be used again."""
    from_cache: bool = False


class SuspicionKind(StrEnum):
    """What a page may be trying on the model that reads it."""

    OVERRIDE = "tells a model to ignore its instructions"
    ROLE = "imitates the marks of a chat"
    ADDRESSED = "speaks to AI models"
    PERSONA = "gives a model another role"
    SECRETS = "asks a model for its instructions or secrets"
    CONCEAL = "tells a model to hide something from its user"
    EXFILTRATION = "asks a model to send data out"
    TOOL = "imitates or asks for a tool call"
    REPLY = "tells a model what to answer"
    ENCODED = "holds orders in code"
    INVISIBLE = "holds words in invisible characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """Words of a page that look like orders to a model, at `text[start:end]`, or in its article's `hidden`.

    Offsets in what was hidden count all of it, though `hidden` keeps only the beginning. A hint for a
    person, never a filter. `strong` is False where the words are quoted or talked about, or honest pages
    write them too; what was hidden is always strong.
    """

    kind: SuspicionKind
    start: int
    end: int
    excerpt: str
    hidden: bool = False
    strong: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """What a reader would see. Text is NFC, with paragraphs separated by a blank line.

    `page_starts` are the offsets in `text` at which the pages of a paged document begin; empty elsewhere.
    """

    text: str
    extractor: str
    title: str = ""
    author: str = ""
    date: str = ""
    site: str = ""
    language: str = ""
    page_starts: tuple[int, ...] = ()
    hidden: str = ""
    """The beginning of what the page held out of its readers' sight. It is no part of `text`."""
    suspicions: tuple[Suspicion, ...] = ()
    """What in it looks like orders to a model."""
    seconds: float = 0.0
    """CPU seconds of the extraction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A hit that was read. `key` is its hit's; passages slice `article.text`."""

    key: str
    url: str
    title: str
    article: Article
    status: int = 200
    media_type: str = ""
    size: int = 0
    """Bytes of the decoded body."""
    seconds: float = 0.0
    """From the start of the fetch to the last byte."""
    snippet_only: bool = False
    """True when nothing could be fetched and the search engine's snippet stands in for the page."""
    from_cache: bool = False

    @property
    def text(self) -> str:
        return self.article.text

    @property
    def suspicions(self) -> tuple[Suspicion, ...]:
        """What in it looks like orders to a model: a hint, by which nothing is left out."""
        return self.article.suspicions

    @property
    def suspect(self) -> bool:
        """Whether a person should look at it before believing an answer that rests on it."""
        return any(mark.strong for mark in self.suspicions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """A hit that was not read, and why."""

    key: str
    url: str
    reason: SkipReason
    detail: str = ""
    seconds: float = 0.0


# --- chunk, embed, rank -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a passage stands: `page.text[start:end]` of the page with this key."""

    page: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A slice of a page. `also` lists the other places where the very same text stands."""

    text: str
    place: Place
    also: tuple[Place, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.place.page}#{self.place.start}-{self.place.end}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Index:
    """Passages with their vectors: row i of `vectors` is passage i, unit length, float32, read-only.

    `question` is the question's unit vector. Both are None when no vectors could be had; ranking is then
    by words alone. `lost` are passages whose embedding failed: they take no part in the ranking.
    """

    passages: tuple[Passage, ...]
    vectors: Floats | None
    question: Floats | None
    embedder: str
    lost: tuple[Passage, ...] = ()
    speaks: tuple[str, ...] = ()
    """ISO 639-1 codes of the languages that the embedder was made for; empty: it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """The ranking of an index. Every array is aligned with the index's passages.

    `order` holds row numbers, best first. `context` holds the rows that became sources: `context[i]` is
    source number i + 1. Scores are raw: cosine from -1 to 1, BM25 from 0 up, fused a weighted sum of
    reciprocal ranks, rerank whatever the reranking model gives (not a number where it was not asked);
    an array is None when its score was not computed.
    """

    order: Rows
    context: tuple[int, ...]
    strategy: str
    """The strategy that ordered the passages, which is bm25 when vectors could not be had."""
    cosine: Floats | None = None
    bm25: Floats | None = None
    fused: Floats | None = None
    rerank: Floats | None = None
    reranker: str = ""
    """The identity of the model behind `rerank`."""
    diverse: Floats | None = None
    """Maximal marginal relevance at the moment a passage was picked; not a number beyond the best 200."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A numbered source of the answer: one passage with its page's title and address. Numbers start at 1."""

    number: int
    passage: Passage
    title: str
    url: str
    site: str = ""


# --- answer, check ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider reports them; `cost` in US dollars where it says so."""

    prompt_tokens: int
    completion_tokens: int
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatDelta:
    """A piece of a streamed reply."""

    text: str = ""
    reasoning: str = ""
    finish: str | None = None
    usage: Usage | None = None


class AnswerKind(StrEnum):
    """Who wrote the answer."""

    WRITTEN = "written"
    """The chat model, from the sources."""
    EXTRACTIVE = "extractive"
    """Sentences quoted from the sources, because no chat model is connected."""
    NOTHING = "nothing"
    """Nobody: the sources do not hold an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    kind: AnswerKind
    text: str
    model: str = ""
    usage: Usage | None = None
    finish: str | None = None
    complete: bool = True
    """False when the stream broke or was stopped; `text` is then what came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A mark such as [2] at `answer.text[start:end]`. `known` is False when no source has that number."""

    number: int
    start: int
    end: int
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of the answer at `answer.text[start:end]`, with the known numbers that it cites."""

    start: int
    end: int
    cites: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The answer's citations, resolved against the numbers that exist."""

    citations: tuple[Citation, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    cited: tuple[int, ...] = field(default=())
    """Known numbers in order of first use."""

    @property
    def unknown(self) -> tuple[int, ...]:
        return tuple(sorted({mark.number for mark in self.citations if not mark.known}))
