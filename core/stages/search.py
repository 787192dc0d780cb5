"""Queries in, hits out: every query is searched the moment it arrives, and every address is named once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

from core.config.knobs import SearchKnobs
from core.errors import SearchFailed
from core.model import Hit, HitOrigin, Phase, Query, Result, SearchReply
from core.ports import Search
from core.run.events import Emit, Note, PhaseEnded, PhaseStarted, QueryFailed, SearchAnswered, SearchStarted
from core.stages.streams import map_concurrently
from core.text.urls import canonical_url

AT_ONCE = 16
"""More queries than a run may have by its knobs; a bound all the same, for queries that people add."""

NAMED = 5
"""How many silent engines an error message names."""

RRF_K = 60
"""The constant of reciprocal rank fusion: Cormack, Clarke & Buettcher, SIGIR 2009."""


async def search(
    queries: AsyncGenerator[Query], knobs: SearchKnobs, port: Search, emit: Emit
) -> AsyncGenerator[Hit]:
    """Each hit when its address is first named, with the lineage of that one query.

    What several queries agree on shows in `merge_hits`, once all have answered. A query that fails is told and
    the others go on.

    Raises:
        SearchFailed: when every query failed (as the first did), or when none brought a web address.
    """
    answers: list[tuple[Query, SearchReply]] = []
    broken: list[SearchFailed] = []
    named: set[str] = set()
    begun = False

    async def one(query: Query) -> tuple[Query, SearchReply] | SearchFailed:
        nonlocal begun
        if not begun:
            begun = True
            emit(PhaseStarted(Phase.SEARCH))
        emit(SearchStarted(query))
        try:
            reply = await port(query.text, knobs)
        except SearchFailed as error:
            emit(QueryFailed(query, error.message, error.hint))
            return error
        emit(SearchAnswered(query, reply))
        return query, reply

    try:
        outcomes: AsyncGenerator[tuple[Query, SearchReply] | SearchFailed] = map_concurrently(
            queries, one, at_once=AT_ONCE
        )
        async with aclosing(outcomes):
            async for outcome in outcomes:
                if isinstance(outcome, SearchFailed):
                    broken.append(outcome)
                    continue
                if not answers and (passed := outcome[1].passed):
                    emit(_fell_back(outcome[1].backend, passed))
                answers.append(outcome)
                for hit in merge_hits([outcome], knobs):
                    if hit.key not in named:
                        named.add(hit.key)
                        yield hit
        if not named:
            raise _nothing(answers, broken)
    finally:
        if begun:
            emit(PhaseEnded(Phase.SEARCH))


def merge_hits(answers: Sequence[tuple[Query, SearchReply]], knobs: SearchKnobs) -> tuple[Hit, ...]:
    """One hit for each canonical key, best first by reciprocal rank fusion.

    The score is the sum of 1 / (60 + rank) over the queries that found the address. Equal scores are ordered
    by the first query that found it, then by its rank there. Address, title and snippet are those of the
    best rank.
    """
    findings: dict[str, list[tuple[Query, Result]]] = {}
    for query, reply in answers:
        for key, result in _top(reply, knobs):
            findings.setdefault(key, []).append((query, result))
    # The dictionary holds keys by first query and rank already, and sorting is stable.
    return tuple(sorted((_hit(key, found) for key, found in findings.items()), key=lambda hit: -hit.score))


def _top(reply: SearchReply, knobs: SearchKnobs) -> Iterator[tuple[str, Result]]:
    """The best result of each of the first addresses, in order of rank: so many of the web, of a collection."""
    seen: set[str] = set()
    taken: Counter[str] = Counter()
    for result in sorted(reply.results, key=lambda result: result.rank):
        key = canonical_url(result.url)
        if key in seen or not result.url.strip().lower().startswith(("http://", "https://")):
            continue
        if taken[result.collection] < (knobs.excerpts if result.collection else knobs.results):
            taken[result.collection] += 1
            seen.add(key)
            yield key, result


def _hit(key: str, found: Sequence[tuple[Query, Result]]) -> Hit:
    results = [result for _, result in found]
    best = min(results, key=lambda result: result.rank)
    return Hit(
        key=key,
        url=best.url,
        title=best.title,
        snippet=best.snippet or next((result.snippet for result in results if result.snippet), ""),
        found=tuple(HitOrigin(query=query.text, rank=row.rank, engines=row.engines) for query, row in found),
        # fsum, because the order of the answers must not show in the last digit.
        score=math.fsum(1 / (RRF_K + result.rank) for result in results),
        published=next((result.published for result in results if result.published), None),
        collection=best.collection,
    )


def _nothing(answers: Sequence[tuple[Query, SearchReply]], broken: Sequence[SearchFailed]) -> SearchFailed:
    if broken and not answers:
        failure = SearchFailed(broken[0].message, hint=broken[0].hint)
        failure.__cause__ = broken[0]
        return failure
    silent = {name: why for _, reply in answers for name, why in reply.silent}
    told = "; ".join(f"{name}: {why}" for name, why in list(silent.items())[:NAMED])
    told += f"; and {len(silent) - NAMED} more" if len(silent) > NAMED else ""
    return SearchFailed(
        f"No results for {'the query' if len(answers) == 1 else 'any query'}."
        + (f" Engines that did not answer: {told}." if told else ""),
        hint="Ask in other words, widen the language or time range, or choose another search backend.",
    )


def _fell_back(backend: str, passed: Sequence[tuple[str, str]]) -> Note:
    reasons = " ".join(f"{name}: {why}" for name, why in passed)
    if backend == "demo":
        return Note(
            Phase.SEARCH,
            f"The offline demo library was searched, not the web. {reasons}",
            "Set SEARXNG_URL, or check the network, to search the web.",
        )
    return Note(Phase.SEARCH, f"{backend} searched. {reasons}")
