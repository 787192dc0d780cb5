"""Contributions of search queries to hits, pages, context and citations, and their overlap."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.analysis.embedding_map.text_vectors import embed_texts
from core.analysis.rankings.context_membership import cited_rows
from core.model import Passage, Query
from core.ports import Embed
from core.run.state import Run
from core.text.language import commonest_function_words, dominant_language, in_latin_script, language_name
from core.text.tokenization import words


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The number of items a query contributed, and of items that no other query contributed."""

    total: int
    unique: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """One query's contribution. `results` counts the results in its reply.

    `note` names the language of the query if it differs from the question's, the reason for a missing contribution, or
    the requested engines and categories that the backend lacks.
    """

    query: Query
    results: int
    hits: Share
    pages: Share
    passages: Share
    context: Share
    cited: Share
    note: str = ""


def contributions(run: Run) -> tuple[Contribution, ...]:
    """Return the contribution of every query, in order.

    A passage counts for each query that found a page containing it.
    """
    finders = {hit.key: frozenset(origin.query for origin in hit.found) for hit in run.hits}
    hits = list(finders.values())
    pages = [finders[key] for key in run.pages if key in finders]
    passages: list[frozenset[str]] = []
    context: list[frozenset[str]] = []
    cited: list[frozenset[str]] = []
    if run.index is not None:
        passages = [_finders(passage, finders) for passage in run.index.passages]
    if run.index is not None and run.ranking is not None:
        context = [passages[row] for row in run.ranking.context]
        cited = [passages[row] for row in cited_rows(run)]
    return tuple(
        Contribution(
            query=query,
            results=len(run.replies[query].results) if query in run.replies else 0,
            hits=_share(query.text, hits),
            pages=_share(query.text, pages),
            passages=_share(query.text, passages),
            context=_share(query.text, context),
            cited=_share(query.text, cited),
            note=_note(run, query),
        )
        for query in run.queries
    )


def _note(run: Run, query: Query) -> str:
    language = _other_language(query, run.question)
    notes = [f"In {language_name(language)}."] if language else []
    unknown = run.replies[query].unknown_engines if query in run.replies else ()
    if query in run.search_faults:
        notes.append(run.search_faults[query].message)
    elif unknown:
        notes.append(f"No engine or category is named {', '.join(unknown)}.")
    return " ".join(notes)


def _other_language(query: Query, question: str) -> str:
    """Return the language of a query that surely differs from the question's, or ""."""
    language, of_question = dominant_language([query.text]), dominant_language([question])
    if not of_question or language == of_question:
        return ""
    shared = commonest_function_words(language).intersection(words(query.text))
    # A single word misleads: "on" is Finnish too.
    return language if len(shared) > 1 or not in_latin_script(language) else ""


def _finders(passage: Passage, finders: Mapping[str, frozenset[str]]) -> frozenset[str]:
    none: frozenset[str] = frozenset()
    return none.union(*(finders.get(place.page, none) for place in (passage.place, *passage.also)))


def _share(query: str, items: Iterable[frozenset[str]]) -> Share:
    own = [finders for finders in items if query in finders]
    return Share(total=len(own), unique=sum(len(finders) == 1 for finders in own))


# --- overlap -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryOverlap:
    """Similarity of the queries as square matrices in their order, with ones on the diagonal.

    `shared` is the Jaccard similarity of their hits, `cosine` the similarity of their vectors.
    """

    shared: NDArray[np.float32]
    cosine: NDArray[np.float32]


async def query_overlap(run: Run, embed: Embed) -> QueryOverlap:
    """Compare every pair of queries by hits and meaning.

    Raises:
        EmbedFailed: when the embedder fails.
    """
    vectors = await embed_texts([query.text for query in run.queries], embed)
    return QueryOverlap(shared=shared_hits(run), cosine=np.clip(vectors @ vectors.T, -1, 1))


def shared_hits(run: Run) -> NDArray[np.float32]:
    """Return the Jaccard similarities, shape (queries, queries)."""
    hits_of_queries = [
        {hit.key for hit in run.hits if any(line.query == query.text for line in hit.found)}
        for query in run.queries
    ]
    shared = np.eye(len(hits_of_queries), dtype=np.float32)
    for row, hits in enumerate(hits_of_queries):
        for column, other in enumerate(hits_of_queries):
            if row != column and hits | other:
                shared[row, column] = len(hits & other) / len(hits | other)
    return shared
