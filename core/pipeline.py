"""A run from question to answer: it begins, its method steers it, and it ends done, stopped or failed."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from core.config.knobs import Knobs
from core.config.run_knobs import Method
from core.errors import INTERNAL_ERROR, INTERNAL_ERROR_HINT, BadInput, OpenQueryError
from core.methods.agent import find_passages_by_steps
from core.methods.client_task import answer_task
from core.methods.phases import answer_and_check, embedded_ids, find_passages
from core.methods.plan import propose_plan
from core.methods.run_context import RunContext
from core.model import AnswerFrom, ClientRequest, Turn
from core.ports import Ports
from core.run import events as e
from core.run.recorder import Listener, Recorder
from core.run.run_ids import new_run_id
from core.run.run_summary import RunSummary
from core.run.state import Run
from core.stages.conversation.known_pages import add_known_pages
from core.stages.partial_results import rank_so_far
from core.stages.rank import sources
from core.stages.time_budget import UNLIMITED, TimeBudget
from core.text.questions import checked_queries, checked_question

log = logging.getLogger(__name__)


async def research(
    question: str,
    knobs: Knobs,
    ports: Ports,
    listen: Listener | None = None,
    *,
    queries: Sequence[str] = (),
    run_id: str | None = None,
    budget: TimeBudget = UNLIMITED,
    turn: Turn | None = None,
    client: ClientRequest | None = None,
    earlier: Run | None = None,
    earlier_runs: Sequence[RunSummary] = (),
) -> Run:
    """Answer a question from the web.

    Args:
        question: what to answer.
        knobs: the settings of the run.
        ports: search, web, extraction, models.
        listen: called with every event and the run after it.
        queries: up to 10 search queries, in place of queries of the chat model.
        run_id: the id of the run, by default a random id.
        budget: the time after which the run answers from its present results.
        turn: the position of a follow-up question in its conversation.
        client: the other data that a chat client sent with the question.
        earlier: the run before a follow-up, whose pages can be used.
        earlier_runs: earlier runs of this installation, the basis of the estimate of a plan.

    Returns:
        The run with status done or failed. A run of the method deep has status planned, and
        `core.followups.research_plan` continues it after its plan is approved. Errors are in the run, not raised. A
        cancelled run has status stopped: its embedded passages are ranked, and its text is a partial answer. All
        events have gone to `listen`.

    Raises:
        BadInput: when the question or a query is empty or too long, or there are too many queries.
    """
    question, queries = checked_question(question), checked_queries(queries)
    if knobs.run.time_budget:
        budget = min(budget, TimeBudget(knobs.run.time_budget), key=lambda limit: limit.left)
    recorder = Recorder(listen)
    recorder.emit(_run_started(question, knobs, run_id, turn, client))
    context = RunContext(question=question, knobs=knobs, ports=ports, recorder=recorder, budget=budget)
    async with run_outcome(recorder):
        if client and client.task:
            await answer_task(context, client)
            return recorder.run
        method = knobs.run.method
        if queries and method is not Method.PIPELINE:
            raise BadInput(
                f"The method {method} writes its own queries.", hint="Give none, or choose pipeline."
            )
        if turn and earlier and turn.answer_from is not AnswerFrom.SEARCH:
            add_known_pages(earlier, recorder)
        if method is Method.DEEP:
            await propose_plan(context, earlier_runs)
            return recorder.run
        if method is Method.AGENT and not (turn and turn.answer_from is AnswerFrom.PAGES):
            await find_passages_by_steps(context)
        else:
            await find_passages(context, queries)
        await answer_and_check(context)
    return recorder.run


async def retrieve(
    question: str,
    knobs: Knobs,
    ports: Ports,
    listen: Listener | None = None,
    *,
    queries: Sequence[str] = (),
    run_id: str | None = None,
) -> Run:
    """Find the sources for a question, and write no answer. The chat model writes only the queries, unless they are given.

    `research` describes the arguments, the result and the errors.
    """
    question, queries = checked_question(question), checked_queries(queries)
    recorder = Recorder(listen)
    recorder.emit(_run_started(question, knobs, run_id))
    async with run_outcome(recorder):
        context = RunContext(question=question, knobs=knobs, ports=ports, recorder=recorder)
        await find_passages(context, queries)
        run = recorder.run
        if run.index and run.ranking:
            chosen = sources(run.ranking, run.index, run.pages, knobs.rank)
            recorder.emit(e.SourcesChosen(chosen, embedded_ids(run)))
    return recorder.run


def _run_started(
    question: str,
    knobs: Knobs,
    run_id: str | None = None,
    turn: Turn | None = None,
    client: ClientRequest | None = None,
) -> e.RunStarted:
    now = datetime.now(UTC).isoformat()
    return e.RunStarted(run_id or new_run_id(), question, knobs, now, turn, client)


def failure(error: BaseException) -> e.RunFailed:
    """Return the event for an error. The details of an unexpected error go to the log only."""
    if isinstance(error, OpenQueryError):
        return e.RunFailed(error.part, error.message, error.hint, error.exit_code)
    log.error("a run failed", exc_info=error)
    return e.RunFailed("openquery", INTERNAL_ERROR, f"What was found so far is kept. {INTERNAL_ERROR_HINT}")


@asynccontextmanager
async def run_outcome(recorder: Recorder) -> AsyncIterator[None]:
    """Emit the end of the run: done, stopped or failed. The embedded passages of a stopped run are ranked first."""
    try:
        yield
    except asyncio.CancelledError:
        try:
            await rank_so_far(recorder.run, recorder.emit)
        finally:
            recorder.emit(e.RunStopped())
        raise
    except Exception as error:
        recorder.emit(failure(error))
    else:
        if recorder.run.live:
            recorder.emit(e.RunDone())
