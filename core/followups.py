"""What can be done with a run that has ended: rank its pages anew, read more of them, answer again.

Each of these takes the run and returns it as it is then. What went wrong is in it, not raised, and costs it
nothing that it had.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from dataclasses import replace
from typing import TypeVar

from core.config.knobs import Knobs, ReadKnobs, checked_query
from core.errors import BadInput, ReadFailed, SearchFailed
from core.model import Author, Extractor, Hit, Phase, Query
from core.pipeline import ending, order, weigh, write
from core.ports import Ports
from core.run import events as e
from core.run.recorder import Journal, Listen
from core.run.state import Run
from core.stages.read import read
from core.stages.search import search
from core.stages.streams import collected

T = TypeVar("T")


async def retune(run: Run, knobs: Knobs, ports: Ports, listen: Listen | None = None) -> Run:
    """Rank the pages in hand under other knobs. Nothing is planned, searched, fetched or answered.

    Only texts that were never embedded before reach the embedder, and only when the passages change.
    """
    journal = Journal(listen, run)
    journal.tell(e.RunResumed(knobs))
    async with ending(journal):
        if run.index is not None and knobs.chunk == run.knobs.chunk:
            await order(journal, ports, known=run.evidence)
        else:
            await weigh(journal, _stream(run.ranked_pages), ports)
    return journal.run


async def embed_anew(run: Run, knobs: Knobs, ports: Ports, listen: Listen | None = None) -> Run:
    """Cut, embed and rank the pages in hand, whatever index the run has: for another embedder, say."""
    journal = Journal(listen, run)
    journal.tell(e.RunResumed(knobs))
    async with ending(journal):
        await weigh(journal, _stream(run.ranked_pages), ports)
    return journal.run


async def read_more(run: Run, keys: Iterable[str], ports: Ports, listen: Listen | None = None) -> Run:
    """Fetch hits that were skipped, and rank them with the pages in hand. No page that was read is fetched again.

    When none of them can be read, a note says so and the ranking stays as it was.
    """
    wanted = set(keys)
    hits = [hit for hit in run.hits if hit.key in wanted and not run.has_read(hit.key)]
    journal = Journal(listen, run)
    journal.tell(e.RunResumed(run.knobs))
    async with ending(journal):
        await _read_also(journal, hits, run.knobs.read, ports)
    return journal.run


async def search_more(run: Run, text: str, ports: Ports, listen: Listen | None = None) -> Run:
    """Search one more query, written by a person, and rank its new pages with those in hand.

    No other query is searched and no page is fetched twice. When the search fails or none of the new pages
    can be read, a note says so and the ranking stays as it was.

    Raises:
        BadInput: as `added_query` does.
    """
    query = added_query(run, text)
    journal = Journal(listen, run)
    tell = journal.tell
    tell(e.RunResumed(run.knobs))
    async with ending(journal):
        tell(e.QueryPlanned(query))
        try:
            found = await collected(search(_stream([query]), run.knobs.search, ports.search, tell))
        except SearchFailed as error:
            tell(e.Noted(Phase.SEARCH, f"“{query.text}”: {error.message}", error.hint))
        else:
            fresh = [hit for hit in found if all(hit.key != known.key for known in run.hits)]
            if not fresh:
                tell(e.Noted(Phase.SEARCH, f"“{query.text}” found no page that was not found before."))
            await _read_also(journal, fresh, run.knobs.read, ports)
    return journal.run


async def read_as(
    run: Run, key: str, extractor: Extractor, ports: Ports, listen: Listen | None = None
) -> Run:
    """Read one page by another extractor, and rank it with the other pages in hand.

    It is fetched again only when it was not kept. When that fails, a note says so and its text stays.
    """
    hits = [hit for hit in run.hits if hit.key == key]
    knobs = replace(run.knobs.read, extractor=extractor, fresh=False)
    journal = Journal(listen, run)
    journal.tell(e.RunResumed(run.knobs))
    async with ending(journal):
        await _read_also(journal, hits, knobs, ports)
    return journal.run


def added_query(run: Run, text: str) -> Query:
    """A query that a person adds to a run.

    Raises:
        BadInput: when it is empty, too long, or was searched already.
    """
    query = Query(text=checked_query(text), author=Author.PERSON)
    if any(query.text.casefold() == known.text.casefold() for known in run.queries):
        raise BadInput("This query was searched already.", hint="Ask in other words.")
    return query


async def answer_again(
    run: Run, ports: Ports, listen: Listen | None = None, *, tuned: Run | None = None
) -> Run:
    """Answer once more, from the ranking of `tuned` when one is given. The earlier answer is kept beside it."""
    journal = Journal(listen, run)
    journal.tell(e.RunResumed((tuned or run).knobs))
    if tuned is not None and tuned.index is not None and tuned.evidence is not None:
        journal.tell(e.Indexed(tuned.index))
        journal.tell(e.Ranked(tuned.evidence))
    async with ending(journal):
        await write(journal, ports)
    return journal.run


async def _read_also(journal: Journal, hits: Iterable[Hit], knobs: ReadKnobs, ports: Ports) -> None:
    """Read pages for a run that has ended, and rank them with those in hand.

    Snippets stand in only where a run has no page at all, and only then is it an error that none can be
    read; else a note says so, and nothing is ranked.
    """
    others = journal.run.pages
    bare = [replace(hit, snippet="") if others else hit for hit in hits]
    if not bare:
        return
    try:
        await collected(read(_stream(bare), knobs, ports.web, ports.extract, journal.tell))
    except ReadFailed as error:
        if not others:
            raise
        journal.tell(e.Noted(Phase.READ, error.message, error.hint))
    else:
        await weigh(journal, _stream(journal.run.ranked_pages), ports)


async def _stream(items: Iterable[T]) -> AsyncGenerator[T]:
    """The items, with a turn for everybody else after each: cutting many pages anew takes a while."""
    for item in items:
        yield item
        await asyncio.sleep(0)
