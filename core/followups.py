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
from core.pipeline import ending, index_and_rank, rank_index, write
from core.ports import Ports
from core.run import events as e
from core.run.recorder import Listener, Recorder
from core.run.state import Run
from core.stages.read import read
from core.stages.search import search
from core.stages.streams import collected

T = TypeVar("T")


async def retune(run: Run, knobs: Knobs, ports: Ports, listen: Listener | None = None) -> Run:
    """Rank the pages in hand under other knobs. Nothing is planned, searched, fetched or answered.

    Only texts that were never embedded before reach the embedder, and only when the passages change.
    """
    recorder = Recorder(listen, run)
    recorder.emit(e.RunResumed(knobs))
    async with ending(recorder):
        if run.index is not None and knobs.chunk == run.knobs.chunk:
            await rank_index(recorder, ports, known=run.ranking)
        else:
            await index_and_rank(recorder, _stream(run.ranked_pages), ports)
    return recorder.run


async def embed_anew(run: Run, knobs: Knobs, ports: Ports, listen: Listener | None = None) -> Run:
    """Cut, embed and rank the pages in hand, whatever index the run has: for another embedder, say."""
    recorder = Recorder(listen, run)
    recorder.emit(e.RunResumed(knobs))
    async with ending(recorder):
        await index_and_rank(recorder, _stream(run.ranked_pages), ports)
    return recorder.run


async def read_more(run: Run, keys: Iterable[str], ports: Ports, listen: Listener | None = None) -> Run:
    """Fetch hits that were skipped, and rank them with the pages in hand. No page that was read is fetched again.

    When none of them can be read, a note says so and the ranking stays as it was.
    """
    wanted = set(keys)
    hits = [hit for hit in run.hits if hit.key in wanted and not run.has_full_page(hit.key)]
    recorder = Recorder(listen, run)
    recorder.emit(e.RunResumed(run.knobs))
    async with ending(recorder):
        await _read_also(recorder, hits, run.knobs.read, ports)
    return recorder.run


async def search_more(run: Run, text: str, ports: Ports, listen: Listener | None = None) -> Run:
    """Search one more query, written by a person, and rank its new pages with those in hand.

    No other query is searched and no page is fetched twice. When the search fails or none of the new pages
    can be read, a note says so and the ranking stays as it was.

    Raises:
        BadInput: as `added_query` does.
    """
    query = added_query(run, text)
    recorder = Recorder(listen, run)
    emit = recorder.emit
    emit(e.RunResumed(run.knobs))
    async with ending(recorder):
        emit(e.QueryPlanned(query))
        try:
            found = await collected(search(_stream([query]), run.knobs.search, ports.search, emit))
        except SearchFailed as error:
            emit(e.Note(Phase.SEARCH, f"“{query.text}”: {error.message}", error.hint))
        else:
            fresh = [hit for hit in found if all(hit.key != known.key for known in run.hits)]
            if not fresh:
                emit(e.Note(Phase.SEARCH, f"“{query.text}” found no page that was not found before."))
            await _read_also(recorder, fresh, run.knobs.read, ports)
    return recorder.run


async def read_as(
    run: Run, key: str, extractor: Extractor, ports: Ports, listen: Listener | None = None
) -> Run:
    """Read one page by another extractor, and rank it with the other pages in hand.

    It is fetched again only when it was not kept. When that fails, a note says so and its text stays.
    """
    hits = [hit for hit in run.hits if hit.key == key]
    knobs = replace(run.knobs.read, extractor=extractor, fresh=False)
    recorder = Recorder(listen, run)
    recorder.emit(e.RunResumed(run.knobs))
    async with ending(recorder):
        await _read_also(recorder, hits, knobs, ports)
    return recorder.run


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
    run: Run, ports: Ports, listen: Listener | None = None, *, tuned: Run | None = None
) -> Run:
    """Answer once more, from the ranking of `tuned` when one is given. The earlier answer is kept beside it."""
    recorder = Recorder(listen, run)
    recorder.emit(e.RunResumed((tuned or run).knobs))
    if tuned is not None and tuned.index is not None and tuned.ranking is not None:
        recorder.emit(e.Indexed(tuned.index))
        recorder.emit(e.Ranked(tuned.ranking))
    async with ending(recorder):
        await write(recorder, ports)
    return recorder.run


async def _read_also(recorder: Recorder, hits: Iterable[Hit], knobs: ReadKnobs, ports: Ports) -> None:
    """Read pages for a run that has ended, and rank them with those in hand.

    Snippets stand in only where a run has no page at all, and only then is it an error that none can be
    read; else a note says so, and nothing is ranked.
    """
    others = recorder.run.pages
    bare = [replace(hit, snippet="") if others else hit for hit in hits]
    if not bare:
        return
    try:
        await collected(read(_stream(bare), knobs, ports.web, ports.extract, recorder.emit))
    except ReadFailed as error:
        if not others:
            raise
        recorder.emit(e.Note(Phase.READ, error.message, error.hint))
    else:
        await index_and_rank(recorder, _stream(recorder.run.ranked_pages), ports)


async def _stream(items: Iterable[T]) -> AsyncGenerator[T]:
    """The items, with a turn for everybody else after each: cutting many pages anew takes a while."""
    for item in items:
        yield item
        await asyncio.sleep(0)
