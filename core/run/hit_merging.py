"""Merge the search results of all queries by reciprocal rank fusion."""

import math
from collections.abc import Iterator, Sequence

from core.config.knobs import SearchKnobs
from core.model import Author, Hit, HitOrigin, Query, Result, SearchReply
from core.text.urls import canonical_url

RRF_K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009)."""

_STAND_INS = frozenset({Author.CONVERSATION, Author.AGENT})
"""Authors of queries whose results are all kept, because the run already chose these pages."""


def merge_hits(answers: Sequence[tuple[Query, SearchReply]], knobs: SearchKnobs) -> tuple[Hit, ...]:
    """Return one hit for each canonical key, best first by reciprocal rank fusion.

    The score is the sum of 1 / (60 + rank) over the queries that found the address. Equal scores are ordered by the
    first query that found it, then by its rank there. Address, title and snippet come from the result with the best
    rank.
    """
    findings: dict[str, list[tuple[Query, Result]]] = {}
    for query, reply in answers:
        limit = len(reply.results) if query.author in _STAND_INS else knobs.results
        for key, result in _first_results(reply, limit):
            findings.setdefault(key, []).append((query, result))
    # The dictionary holds keys by first query and rank already, and sorting is stable.
    return tuple(
        sorted((_hit(key, results) for key, results in findings.items()), key=lambda hit: -hit.score)
    )


def _first_results(reply: SearchReply, limit: int) -> Iterator[tuple[str, Result]]:
    """Yield the best result of each address, in order of rank.

    At most `limit` come from the web, and all from collections.
    """
    seen_keys: set[str] = set()
    pages = 0
    for result in sorted(reply.results, key=lambda result: result.rank):
        key = canonical_url(result.url)
        if key in seen_keys or not result.url.strip().lower().startswith(("http://", "https://")):
            continue
        if result.collection or pages < limit:
            pages += not result.collection
            seen_keys.add(key)
            yield key, result


def _hit(key: str, occurrences: Sequence[tuple[Query, Result]]) -> Hit:
    results = [result for _, result in occurrences]
    best = min(results, key=lambda result: result.rank)
    return Hit(
        key=key,
        url=best.url,
        title=best.title,
        snippet=best.snippet or next((result.snippet for result in results if result.snippet), ""),
        found=tuple(
            HitOrigin(query=query.text, rank=row.rank, engines=row.engines) for query, row in occurrences
        ),
        # fsum, so that the order of replies does not change the last digit.
        score=math.fsum(1 / (RRF_K + result.rank) for result in results),
        published=next((result.published for result in results if result.published), None),
        collection=best.collection,
        similarity=max(
            (result.similarity for result in results if result.similarity is not None), default=None
        ),
    )
