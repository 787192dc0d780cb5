"""What each search query brought: to the hits, the pages, the context and the citations, and what only it did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.analysis.embedding_map.text_vectors import vectors_of
from core.analysis.rankings.context_membership import cited_rows
from core.analysis.rankings.leave_out import without_pages
from core.model import Passage, Query
from core.ports import Embed
from core.run.hit_merging import merge_hits
from core.run.state import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many of something a query brought, and how many of these no other query did."""

    all: int
    alone: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """One query's part in the run. `results` counts the rows of its reply; `fault` says why there is none."""

    query: Query
    results: int
    hits: Share
    pages: Share
    passages: Share
    context: Share
    cited: Share
    fault: str = ""


def contributions(run: Run) -> tuple[Contribution, ...]:
    """The part of every query, in the order in which they were written.

    A passage is brought by each query that found a page it stands on.
    """
    finders = {hit.key: frozenset(found.query for found in hit.found) for hit in run.hits}
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
            fault=run.search_faults[query].message if query in run.search_faults else "",
        )
        for query in run.queries
    )


def _finders(passage: Passage, finders: Mapping[str, frozenset[str]]) -> frozenset[str]:
    nobody: frozenset[str] = frozenset()
    return nobody.union(*(finders.get(place.page, nobody) for place in (passage.place, *passage.also)))


def _share(query: str, brought: Iterable[frozenset[str]]) -> Share:
    own = [finders for finders in brought if query in finders]
    return Share(all=len(own), alone=sum(len(finders) == 1 for finders in own))


# --- redundancy -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Redundancy:
    """How alike the queries are, as square matrices in their order, with ones on the diagonal.

    `shared` is the Jaccard similarity of the hits they found, `cosine` that of the queries themselves.
    """

    queries: tuple[str, ...]
    shared: NDArray[np.float32]
    cosine: NDArray[np.float32]


async def redundancy(run: Run, embed: Embed) -> Redundancy:
    """Which queries asked for the same thing.

    Raises:
        EmbedFailed: when the embedder does.
    """
    queries = tuple(query.text for query in run.queries)
    vectors = await vectors_of(queries, embed)
    return Redundancy(queries=queries, shared=shared_hits(run), cosine=np.clip(vectors @ vectors.T, -1, 1))


def shared_hits(run: Run) -> NDArray[np.float32]:
    """Jaccard similarity between the queries' hits, shape (queries, queries)."""
    found = [
        {hit.key for hit in run.hits if any(line.query == query.text for line in hit.found)}
        for query in run.queries
    ]
    shared = np.eye(len(found), dtype=np.float32)
    for row, one in enumerate(found):
        for column, other in enumerate(found):
            if row != column and one | other:
                shared[row, column] = len(one & other) / len(one | other)
    return shared


# --- without a query --------------------------------------------------------------------------------------


def without_query(run: Run, text: str) -> Run:
    """The run as if this query had never been searched: without the pages that only it found, ranked anew."""
    queries = tuple(query for query in run.queries if query.text != text)
    replies = {query: reply for query, reply in run.replies.items() if query.text != text}
    planned = [(query, replies[query]) for query in queries if query in replies]
    hits = merge_hits(planned, run.knobs.search)
    left = {hit.key for hit in hits}
    gone = {hit.key for hit in run.hits} - left
    rest = replace(
        run,
        queries=queries,
        replies=replies,
        hits=hits,
        skips={key: skip for key, skip in run.skips.items() if key not in gone},
    )
    return without_pages(rest, gone)
