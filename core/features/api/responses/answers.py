"""Request and response models of the HTTP service, and runs as responses."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from core.analysis.conversation import understood
from core.config.knobs import MOST_COLLECTIONS, Knobs, SearchScope, within_sites
from core.features.api.responses.scores import Scores
from core.features.api.strict_json import FromPagesOrSearch, Queries, Question, Strict
from core.model import AnswerKind, Source, readable
from core.model.passage_urls import document_url, passage_at_url
from core.run.notices import passage_embedder
from core.run.state import Run
from core.stages.search import NO_RESULTS
from core.text.sanitize import truncate

NOT_FOUND = "Not found in context"
"""The answer when no passage is similar enough, or none of them holds an answer."""

DEMO_NOTE = "The sources are articles of the demo library, OpenQuery's handbook on retrieval, not web pages."

SNIPPET = 200
"""Characters of a source's beginning in an answer of `POST /qa`."""

_MOST_SOURCES = 20
"""Passages that `POST /qa` and `POST /query` may give."""

CONTENT = 1000
"""The most characters of a chunk in an answer of `POST /query`."""

Score = Annotated[float, Field(ge=0, le=1)]


Sites = Annotated[
    tuple[Annotated[str, Field(pattern=r"^[^\s,]{1,253}$")], ...], Field(max_length=20, strict=False)
]


class ResultRange(Strict):
    """Where to search. Omitted fields have the values of the session's configuration."""

    origin: Annotated[SearchScope | None, Field(strict=False)] = None  # JSON has no enums, and no tuples
    """The web, the library's collections, or both."""
    collections: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")], ...] | None,
        Field(max_length=MOST_COLLECTIONS, strict=False),
    ] = None
    """The collections of the library to search. An empty list means all."""
    only_domains: Sites | None = None
    """Sites to search and use, such as example.org or edu, with their subdomains. An empty list means all."""
    without_domains: Sites | None = None
    """Sites to leave out of search and results."""
    queries: Queries = ()
    """Search queries in place of the question."""
    answer_from: FromPagesOrSearch = None

    def restrict(self, knobs: Knobs, top_k: int | None) -> Knobs:
        """Return the session's knobs with this range and `top_k`. Without `top_k` theirs is kept, from 1 to 20."""
        search, rank = knobs.search, knobs.rank
        origin = search.origin if self.origin is None else self.origin
        collections = search.collections if self.collections is None else self.collections
        return replace(
            knobs,
            search=replace(search, origin=origin, collections=collections),
            rank=within_sites(
                replace(rank, top_k=min(max(rank.top_k, 1), _MOST_SOURCES) if top_k is None else top_k),
                self.only_domains,
                self.without_domains,
            ),
        )


class QARequest(ResultRange):
    """The body of `POST /qa`."""

    question: Question
    top_k: Annotated[int, Field(ge=1, le=_MOST_SOURCES)] = 5
    """How many of the best passages become sources."""
    fresh: bool = False
    """Have the model asked even if it has answered this question from the same sources a moment ago."""

    def knobs(self, knobs: Knobs) -> Knobs:
        """Return the session's knobs with the values of the request."""
        return self.restrict(knobs, self.top_k if "top_k" in self.model_fields_set else None)


class AnswerMetadata(BaseModel):
    """Where a passage comes from. `created_at` is the page's own date; `page` counts from 1 in paged documents.

    Of a passage of a collection, every field that is stored with it stands here as it was written, whatever
    its type; the fields below are filled in where it has none.
    """

    model_config = ConfigDict(extra="allow")

    title: Any
    url: Any
    site: Any = ""
    author: Any = ""
    language: Any = ""
    created_at: Any = None
    page: Any = None


class QASource(BaseModel):
    """A source of an answer of `POST /qa`."""

    number: int
    """The number of its marks in the answer: [3] cites number 3. In a session a passage keeps its number."""
    content_snippet: Annotated[str, Field(max_length=SNIPPET)]
    score: Score
    """The similarity that Qdrant gave; of a page of the web its cosine. Negative values are 0."""
    similarity_score: Score
    """The cosine on the scale of /query."""
    cosine: float | None
    source_metadata: AnswerMetadata
    snippet_only: bool = False
    """Whether only the search engine's snippet of the page is known."""


class QAResponse(BaseModel):
    """The reply of `POST /qa`."""

    question: str
    answer: str
    sources: list[QASource]
    retrieved_chunks_count: int
    error: str | None = None
    """Why the answer is missing or incomplete, and what to do, or null."""
    run: str = ""
    """The id of the run, for `GET /runs/{id}`."""
    cached: bool = False
    """Whether the model wrote this answer a moment ago, to the same question and from the same sources."""
    alternatives: list[str] = []
    """Where every search failed: values of the knob `search.backend` that may be chosen instead."""
    backend: str = ""
    """The backend that answered the searches: searxng, ddgs, demo or library, or ""."""
    notes: list[str] = []
    """Notes on how the answer was made, such as a search of the demo library. Losses and doubts begin with
    "Warning:"."""
    stored: bool = True
    """False: the run is in memory only, and `notes` say why."""


class QueryRequest(ResultRange):
    """The body of `POST /query`."""

    query: Question
    max_results: Annotated[int, Field(ge=1, le=_MOST_SOURCES)] = 5
    similarity_threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Passages with a lower `similarity_score` are not used. 0: all are."""

    def knobs(self, knobs: Knobs) -> Knobs:
        """Return the session's knobs with the values of the request."""
        sent = self.model_fields_set
        knobs = self.restrict(knobs, self.max_results if "max_results" in sent else None)
        if "similarity_threshold" not in sent:
            return knobs
        return replace(knobs, rank=replace(knobs.rank, min_similarity=self.similarity_threshold))


class Chunk(BaseModel):
    """A passage in the reply of `POST /query`."""

    number: int
    """As in QASource."""
    id: str
    """Of a passage of a collection, the id of its point in Qdrant."""
    content: Annotated[str, Field(max_length=CONTENT)]
    """The passage. A longer one is cut and ends with an ellipsis."""
    truncated: bool = False
    """Whether the passage is longer than `content`."""
    source_url: str
    """The address of its document."""
    similarity_score: Score
    """The cosine on the embedder's calibrated scale from 0 to 1. See docs/api.md."""
    cosine: float | None
    """The uncalibrated cosine, or null without vectors."""
    metadata: AnswerMetadata


class QueryResponse(BaseModel):
    """The reply of `POST /query`."""

    query: str
    answer: str
    retrieved_chunks: list[Chunk]
    timestamp: datetime
    sources: list[str]
    """The addresses of the chunks' documents, each once."""
    run: str = ""
    """The id of the run, for `GET /runs/{id}`."""
    backend: str = ""
    """The backend that answered the searches, as in QAResponse."""
    notes: list[str] = []
    stored: bool = True
    """As in QAResponse."""


def source_metadata(run: Run, source: Source) -> AnswerMetadata:
    """Return the origin of a source's passage."""
    place = source.passage.place
    page = run.pages.get(place.page)
    article = page.article if page else None
    fields = {  # the title of a passage of a collection is followed by its page, for people
        "title": (source.site or source.title) if passage_at_url(place.page) else source.title,
        "url": source.url,
        "site": source.site,
        "author": article.author if article else "",
        "language": article.language if article else "",
        "embedder": passage_embedder(run),
        "created_at": (article.date or None) if article else None,
        "page": article.page_at(place.start) if article else None,
    }
    return AnswerMetadata.model_validate(fields | dict(article.metadata if article else {}))


def point_id(source: Source) -> str:
    """Return the id of a passage's point in Qdrant. A passage of a web page has its own id."""
    collection_and_id = passage_at_url(source.passage.place.page)
    return collection_and_id[1] if collection_and_id else source.passage.id


def document_address(source: Source) -> str:
    """Return the address of a passage's document. A file has an address that names it."""
    collection_and_id = passage_at_url(source.url)
    return (
        document_url(collection_and_id[0], source.site) if collection_and_id and source.site else source.url
    )


def answer_of(run: Run) -> str:
    """Return the text of the answer, or of a plan that waits for approval.

    If the sources have no answer, it is a fixed sentence.
    """
    if run.plan and run.waits_for_approval:
        return "\n".join(
            [f"A plan that waits for approval: POST /runs/{run.id}/plan", *run.plan.sub_questions]
        )
    nothing = run.answer.kind is AnswerKind.NOT_FOUND if run.answer else nothing_found(run)
    return NOT_FOUND if nothing else run.text


def nothing_found(run: Run) -> bool:
    """Whether every search was answered in full, but without results on the chosen sites."""
    replies, faults = run.replies.values(), run.search_faults.values()
    return (
        bool(replies or faults)
        and all(fault.message.startswith(NO_RESULTS.rstrip(".")) for fault in faults)
        and not any(r.results or r.unresponsive_engines for r in replies)
    )


def note_fields(run: Run, unsaved: str) -> dict[str, Any]:
    """The fields `notes` and `stored` that every form of a run has. `unsaved` says why it is not stored, if it is not.

    `notes` are the run's notices as text; the first says how a follow-up was understood, the next so where the demo
    library answered, the last where no search found anything, and why the run is not stored where it is not.
    """
    follow_up = understood(run.question, run.turn)
    demo = DEMO_NOTE if run.backend == "demo" else None
    nothing = str(run.error) if run.error and nothing_found(run) else None
    return {
        "notes": [*filter(None, (follow_up, demo, *map(str, run.notices), nothing, unsaved))],
        "stored": not unsaved,
    }


def qa_response(run: Run, alternatives: Sequence[str] = (), unsaved: str = "") -> QAResponse:
    """The response of `POST /qa`, also for a run that failed. `alternatives` are other backends to search."""
    scores = Scores(run)
    return QAResponse(
        question=run.written,
        answer=answer_of(run),
        sources=[
            QASource(
                number=source.number,
                content_snippet=readable(source.passage.text)[:SNIPPET],
                score=(passage_score := scores.of(source.passage)).score,
                similarity_score=passage_score.similarity,
                cosine=passage_score.cosine,
                source_metadata=source_metadata(run, source),
                snippet_only=source.snippet_only,
            )
            for source in run.sources
        ],
        retrieved_chunks_count=len(run.sources),
        error=None if nothing_found(run) or not run.error else str(run.error),
        run=run.id,
        cached=bool(run.answer and run.answer.cached),
        alternatives=list(alternatives),
        backend=run.backend,
        **note_fields(run, unsaved),
    )


def query_response(run: Run, unsaved: str = "") -> QueryResponse:
    """The response of `POST /query`."""
    scores = Scores(run)
    return QueryResponse(
        query=run.written,
        answer=answer_of(run),
        retrieved_chunks=[
            Chunk(
                number=source.number,
                id=point_id(source),
                content=truncate(readable(source.passage.text), CONTENT),
                truncated=len(source.passage.text) > CONTENT,
                source_url=document_address(source),
                similarity_score=(passage_score := scores.of(source.passage)).similarity,
                cosine=passage_score.cosine,
                metadata=source_metadata(run, source),
            )
            for source in run.sources
        ],
        timestamp=datetime.now(UTC),
        sources=list(dict.fromkeys(map(document_address, run.sources))),
        run=run.id,
        backend=run.backend,
        **note_fields(run, unsaved),
    )
