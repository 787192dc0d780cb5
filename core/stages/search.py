"""Run every query as soon as it arrives, and yield each address once."""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from core.config.knobs import Backend, SearchKnobs, SearchScope
from core.errors import SearchFailed
from core.model import Author, Hit, Phase, Query, Result, SearchReply, Severity
from core.ports import Search
from core.run.events import (
    Emit,
    ModelUsed,
    Note,
    PhaseEnded,
    PhaseStarted,
    QueryFailed,
    SearchAnswered,
    SearchStarted,
)
from core.run.hit_merging import merge_hits
from core.run.notices import not_searched
from core.stages.streams import map_concurrently
from core.text.sanitize import plural
from core.text.urls import addresses_in, without_user_info

AT_ONCE = 16
"""Concurrent queries. Knobs allow fewer per run, but people may add queries."""

NO_RESULTS = "No search results found."
"""The message of a run without search results."""

_REFUSAL = re.compile(
    r"captcha|too many requests|access denied|suspended|refused|rate.?limit|\b(?:403|429)\b", re.I
)
_REFUSED = "The search engines refused to search."
_AFTER_REFUSAL = (
    "They limit searches from one address: wait some minutes, ask fewer queries at once, connect other engines, or choose "
    "another search backend."
)

DEMO_SEARCHED = (
    "The demo library was searched, not the web: no SearXNG is connected, and no search engine is reachable.",
    "Check the network, or set SEARXNG_URL.",
)
"""The message and hint of a run that used the demo backend without anybody's choice."""
_OTHER_WEB_SEARCH = "widen the language or time range, or choose another search backend."


def opens_addresses(knobs: SearchKnobs) -> bool:
    """Return whether a query that is an address is opened: not if the library alone or the demo library is searched."""
    return knobs.origin is not SearchScope.LIBRARY and knobs.backend is not Backend.DEMO


async def search(
    queries: AsyncGenerator[Query], knobs: SearchKnobs, port: Search, emit: Emit
) -> AsyncGenerator[Hit]:
    """Yield a hit when its address is first found.

    A person's query that is the address of a page finds that page, without a search. A hit has the lineage of its first query
    only. `merge_hits` shows the agreement of several queries after all have replied. A
    query that fails is reported, and the others continue.

    Raises:
        SearchFailed: when every query failed (with the first failure), or when none found a web address.
    """
    answers: list[tuple[Query, SearchReply]] = []
    failures: list[SearchFailed] = []
    seen_keys: set[str] = set()
    unknown_engines: set[str] = set()
    started = demo_told = False

    async def search_query(query: Query) -> tuple[Query, SearchReply] | SearchFailed:
        nonlocal started
        if not started:
            started = True
            emit(PhaseStarted(Phase.SEARCH))
        emit(SearchStarted(query))
        try:
            named_page = _named_page(query, knobs)
            reply = _without_user_info(named_page or await port(query.text, knobs))
        except SearchFailed as error:
            emit(QueryFailed(query, error.message, error.hint))
            return error
        if reply.usage:
            emit(ModelUsed(Phase.SEARCH, reply.usage))
        emit(SearchAnswered(query, reply))
        return query, reply

    try:
        outcomes: AsyncGenerator[tuple[Query, SearchReply] | SearchFailed] = map_concurrently(
            queries, search_query, at_once=AT_ONCE
        )
        async with aclosing(outcomes):
            async for outcome in outcomes:
                if isinstance(outcome, SearchFailed):
                    failures.append(outcome)
                    continue
                if outcome[1].backend == "demo" and knobs.backend is Backend.AUTO and not demo_told:
                    demo_told = True
                    emit(Note(Phase.SEARCH, *DEMO_SEARCHED))
                if new := [name for name in outcome[1].unknown_engines if name not in unknown_engines]:
                    unknown_engines.update(new)
                    emit(_unknown_names(outcome[1].backend, new))
                answers.append(outcome)
                for hit in merge_hits([outcome], knobs):
                    if hit.key not in seen_keys:
                        seen_keys.add(hit.key)
                        yield hit
        if not seen_keys:
            raise _search_failure(answers, failures, knobs)
    finally:
        if started:
            emit(PhaseEnded(Phase.SEARCH))


def _named_page(query: Query, knobs: SearchKnobs) -> SearchReply | None:
    """Return the page whose address a person gave as a query, or None for any other query."""
    is_address = query.author is Author.PERSON and (query.text,) == addresses_in(query.text)
    if not is_address or not opens_addresses(knobs):
        return None
    return SearchReply(backend="", results=(Result(url=query.text, title="", snippet="", rank=1),))


def _without_user_info(reply: SearchReply) -> SearchReply:
    """Remove passwords from addresses, which are shown and stored."""
    if not any("@" in result.url for result in reply.results):
        return reply
    results = tuple(replace(result, url=without_user_info(result.url)) for result in reply.results)
    return replace(reply, results=results)


def _unknown_names(backend: str, names: Sequence[str]) -> Note:
    return Note(
        Phase.SEARCH,
        f"The {backend} instance has no engine or category named {', '.join(names)}, and ignored that.",
        "Correct the engines and categories. Where none that is named exists, its default engines are searched.",
        Severity.WARNING,
    )


def _search_failure(
    answers: Sequence[tuple[Query, SearchReply]], failures: Sequence[SearchFailed], knobs: SearchKnobs
) -> SearchFailed:
    if failures and not answers:
        failure = SearchFailed(failures[0].message, hint=failures[0].hint)
        failure.__cause__ = failures[0]
        return failure
    reasons = {name: reason for _, reply in answers for name, reason in reply.unresponsive_engines}
    refused = {name: reason for name, reason in reasons.items() if _REFUSAL.search(reason)}
    message = f"{_REFUSED if refused else NO_RESULTS} {not_searched(reasons.items())}".rstrip()
    if said := tuple(dict.fromkeys(f"“{answer}”" for _, reply in answers for answer in reply.answers)):
        message += f" The search engine itself answers {' and '.join(said)}."
    if knobs.origin is SearchScope.WEB:
        corrected = dict.fromkeys(f"“{query}”" for _, reply in answers for query in reply.corrections)
        if corrected:
            hint = f"Ask again as the search engine corrects it: {' or '.join(corrected)}. Or {_OTHER_WEB_SEARCH}"
        elif refused:
            hint = _AFTER_REFUSAL
        else:
            hint = f"Ask in other words, {_OTHER_WEB_SEARCH}"
        return SearchFailed(message, hint=hint)
    # A query has nearest passages at any distance, so only an empty collection has no result.
    empty = [name for name in knobs.collections if name not in reasons]
    if empty or not knobs.collections:
        where = (
            f"{plural(len(empty), 'collection')} {', '.join(empty)}"
            if empty
            else "collections of the library"
        )
        message += f" There are no passages in the {where}."
    hint = "Add documents to it, or search another collection"
    if knobs.origin is SearchScope.LIBRARY:
        return SearchFailed(message, hint=f"{hint}.")
    return SearchFailed(message, hint=f"{hint}. For the web, ask in other words, {_OTHER_WEB_SEARCH}")
