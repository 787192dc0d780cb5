"""Follow-ups of a run that has ended: retune, re-embed, read more pages, search once more, answer again.

Each takes the run and returns its new state. Errors are in the returned run, not raised. A failed or cancelled
follow-up keeps the earlier ranking and answer unless it has made new ones.
"""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from core.config.knobs import Knobs, ReadKnobs
from core.config.run_knobs import Method
from core.errors import BadInput, ReadFailed, SearchFailed
from core.methods.agent import find_passages_by_steps
from core.methods.deep import approved_sub_questions, research_sections
from core.methods.filling import embed_remaining
from core.methods.phases import answer_and_check, index_and_rank, rank_index
from core.methods.plan import propose_plan
from core.methods.run_context import RunContext
from core.model import AnswerFrom, Article, Author, Document, Extractor, Hit, Phase, Query, Severity
from core.pipeline import run_outcome
from core.ports import Ports
from core.run import events as e
from core.run.recorder import Listener, Recorder
from core.run.reports.plan_events import PlanApproved
from core.run.state import Run, RunStatus
from core.run.transitions import index_event
from core.stages.answer import QUOTED_BY_CHOICE
from core.stages.rank import require_texts
from core.stages.read import read
from core.stages.search import search
from core.stages.streams import collected, stream
from core.text.questions import checked_query

NOT_KEPT = "The text was not kept: the page, as it was fetched, has no block of text with it."
"""The note of a run that could not keep a text in an article."""


@asynccontextmanager
async def _resumed(
    run: Run, ports: Ports, listen: Listener | None, knobs: Knobs | None = None
) -> AsyncGenerator[RunContext]:
    """Continue an ended run, under its own knobs or others, until the end of the work."""
    recorder = Recorder(listen, run)
    recorder.emit(e.RunResumed(knobs or run.knobs))
    async with run_outcome(recorder):
        yield RunContext(question=run.question, knobs=knobs or run.knobs, ports=ports, recorder=recorder)


async def retune(run: Run, knobs: Knobs, ports: Ports, listen: Listener | None = None) -> Run:
    """Rank the run's pages under other knobs. Nothing is planned, searched, fetched or answered.

    Chunking and embedding run again only when the chunk knobs differ, and only new texts reach the embedder.
    """
    async with _resumed(run, ports, listen, knobs) as context:
        require_texts(run.passages, run.pages)
        if run.index is not None and knobs.chunk == run.knobs.chunk and not run.part:
            await rank_index(context, previous=run.ranking)
        else:
            await index_and_rank(context, stream(run.ranked_pages))
    return context.run


async def reembed(run: Run, knobs: Knobs, ports: Ports, listen: Listener | None = None) -> Run:
    """Chunk, embed and rank the run's pages again, such as by another embedder."""
    async with _resumed(run, ports, listen, knobs) as context:
        require_texts(run.passages, run.pages)
        await index_and_rank(context, stream(run.ranked_pages))
    return context.run


async def complete(run: Run, ports: Ports, listen: Listener | None = None) -> Run:
    """Embed the waiting passages of an ended run, and rank by their vectors.

    Status, answer and time of the run stay. If this is cancelled, the run keeps the vectors so far.
    """
    recorder = Recorder(listen, run, timeless=True)
    await embed_remaining(ports, recorder)
    return recorder.run


async def read_more(run: Run, keys: Iterable[str], ports: Ports, listen: Listener | None = None) -> Run:
    """Fetch hits that were skipped, and rank them with the pages that were read.

    If no hit can be read, a note reports this and the ranking does not change.

    Args:
        run: the ended run.
        keys: the keys of the hits. Hits with a page are left out.
        ports: search, web, extraction and models.
        listen: called with every event.
    """
    wanted_keys = set(keys)
    hits = [hit for hit in run.hits if hit.key in wanted_keys and not run.has_full_page(hit.key)]
    async with _resumed(run, ports, listen) as context:
        await _read_and_rank(context, hits, run.knobs.read)
    return context.run


async def search_more(run: Run, text: str, ports: Ports, listen: Listener | None = None) -> Run:
    """Search one more query of a person, and rank its new pages with the others.

    No other query is searched and no page is fetched twice. If the search fails or no new page can be read, a note
    reports this and the ranking does not change.

    Raises:
        BadInput: when `added_query` refuses the text.
    """
    query = added_query(run, text)
    async with _resumed(run, ports, listen) as context:
        emit = context.emit
        emit(e.QueryPlanned(query))
        try:
            hits = await collected(search(stream([query]), run.knobs.search, ports.search, emit))
        except SearchFailed as error:
            if query not in context.run.search_faults:  # those are notices of the run already
                emit(e.Note(Phase.SEARCH, f"“{query.text}”: {error.message}", error.hint))
        else:
            new = [hit for hit in hits if all(hit.key != earlier_hit.key for earlier_hit in run.hits)]
            if not new:
                emit(e.Note(Phase.SEARCH, f"“{query.text}” found no new page."))
            await _read_and_rank(context, new, run.knobs.read)
    return context.run


async def read_as(
    run: Run,
    key: str,
    extractor: Extractor,
    ports: Ports,
    listen: Listener | None = None,
    *,
    kept: Sequence[str] | None = None,
) -> Run:
    """Read one page by another extractor, or with other blocks kept, and rank it with the other pages.

    The page is fetched again only when it is not cached. If that fails, a note reports this and its text stays. Blocks
    with the texts of `kept` are always in its article. By default these are its present kept texts.
    """
    hits = [hit for hit in run.hits if hit.key == key]
    knobs = replace(run.knobs.read, extractor=extractor, fresh=False)
    known = run.kept_texts(key)
    wanted = known if kept is None else tuple(kept)

    async def extract(document: Document, extractor: Extractor) -> Article:
        return await ports.extract(replace(document, kept=wanted), extractor)

    async with _resumed(run, replace(ports, extract=extract), listen) as context:
        await _read_and_rank(context, hits, knobs)
        is_read = context.run.pages.get(key) is not run.pages.get(key)
        if is_read and len(wanted) > len(known) >= len(context.run.kept_texts(key)):
            context.emit(e.Note(Phase.READ, NOT_KEPT, severity=Severity.WARNING))
    return context.run


def added_query(run: Run, text: str) -> Query:
    """Return the query that a person adds to a run.

    Raises:
        BadInput: when the query is empty, too long, or was searched already.
    """
    query = Query(text=checked_query(text), author=Author.PERSON)
    if any(query.text.casefold() == earlier_query.text.casefold() for earlier_query in run.queries):
        raise BadInput("This query was searched already.", hint="Use other words.")
    return query


async def answer_again(
    run: Run,
    ports: Ports,
    listen: Listener | None = None,
    *,
    retuned: Run | None = None,
    quoted: bool = False,
) -> Run:
    """Answer again, from the ranking of `retuned` if given. The previous answer joins `earlier_answers`.

    With `quoted`, sentences of the sources are quoted and no chat model is asked. A run that ended before its ranking is
    answered from its pages.
    """
    knobs = (retuned or run).knobs
    async with _resumed(run, ports, listen, knobs) as context:
        if retuned is not None and retuned.index is not None and retuned.ranking is not None:
            context.emit(index_event(retuned.index))
            context.emit(e.Ranked(retuned.ranking))
        if (run.part or context.run.ranking is None) and run.pages:
            await index_and_rank(context, stream(run.ranked_pages))
        if quoted:
            await answer_and_check(replace(context, ports=replace(ports, chat=None)), note=QUOTED_BY_CHOICE)
        else:
            await answer_and_check(context)
    return context.run


def require_pages(run: Run) -> None:
    """Raise `BadInput` when a run has nothing to answer from."""
    if not run.pages:
        raise BadInput("This run has no pages to answer from.", hint="Ask the question again.")


async def research_plan(
    run: Run, sub_questions: Sequence[str], ports: Ports, listen: Listener | None = None
) -> Run:
    """Research the sub-questions that a person has approved for a planned run, and write one report.

    Raises:
        BadInput: when `approved_sub_questions` refuses them.
    """
    approved = approved_sub_questions(run, sub_questions)
    recorder = Recorder(listen, run)
    recorder.emit(PlanApproved(approved))
    async with run_outcome(recorder):
        await research_sections(
            RunContext(question=run.question, knobs=run.knobs, ports=ports, recorder=recorder)
        )
    return recorder.run


def is_unfinished(run: Run) -> bool:
    """Whether `resume` has work to do: not all steps or sections of the run are done."""
    from_pages = run.turn is not None and run.turn.answer_from is AnswerFrom.PAGES
    match run.knobs.run.method:
        case Method.AGENT if not from_pages:
            undone = False
        case Method.DEEP if not run.waits_for_approval:
            undone = any(section.answer is None for section in run.sections)
        case _:
            return False
    return not run.live and (undone or run.status is not RunStatus.DONE)


def require_unfinished(run: Run) -> None:
    """Raise `BadInput` for a run without unfinished steps or sections."""
    if not is_unfinished(run):
        raise BadInput("There is nothing to go on with in this run.", hint="Ask the question again.")


async def resume(run: Run, ports: Ports, listen: Listener | None = None) -> Run:
    """Continue an unfinished run of the method agent or deep at its step. Present results are not requested again.

    The limits of an agent hold for its whole run. Unwritten sections are researched with a new budget, and the report
    is written again.

    Raises:
        BadInput: when `require_unfinished` refuses the run.
    """
    require_unfinished(run)
    async with _resumed(run, ports, listen) as context:
        if run.sections:
            await research_sections(context)
        elif run.knobs.run.method is Method.DEEP:
            await propose_plan(context)
        else:
            await find_passages_by_steps(context)
            await answer_and_check(context)
    return context.run


async def _read_and_rank(context: RunContext, hits: Iterable[Hit], knobs: ReadKnobs) -> None:
    """Read pages for a run that has ended, and rank them with those that were read.

    A run without any page falls back to snippets, and fails when nothing can be read. Any other run gets a note if
    nothing could be read, and is not ranked again.
    """
    run, ports, emit = context.run, context.ports, context.emit
    read_before = run.pages
    pages_to_read = [replace(hit, snippet="") if read_before else hit for hit in hits]
    if not pages_to_read:
        return
    try:
        await collected(read(stream(pages_to_read), knobs, ports.web, ports.extract, emit))
    except ReadFailed as error:
        if not read_before:
            raise
        emit(e.Note(Phase.READ, error.message, error.hint, Severity.WARNING))
    else:
        await index_and_rank(context, stream(context.run.ranked_pages))
