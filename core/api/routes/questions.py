"""Questions: `POST /qa`, `POST /query`, `POST /research`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Body, Header, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from core.api.problems import STATUS_OF_PART, Refusal, documented
from core.api.responses.answers import (
    QARequest,
    QAResponse,
    QueryRequest,
    QueryResponse,
    nothing_found,
    qa,
    query,
)
from core.api.responses.run_view import RunView, view
from core.api.run_following import RunStep, ended_run, finished_run, run_steps
from core.api.service import Service, ServiceOf, SessionOf
from core.api.sessions import Method, Session
from core.api.strict_json import Queries, Question, SomeKnobs, Strict, StrictRoute, plain, with_knobs
from core.config.knobs import RankKnobs
from core.run.codec import event_to_json
from core.run.events import Indexed, Record
from core.run.state import Run
from core.runtime.health import chat_works
from core.stages.time_budget import UNLIMITED, TimeBudget

router = APIRouter(route_class=StrictRoute, tags=["questions"])

EVENT_STREAM = "text/event-stream"

_FAILURES = documented(409, 413, 422, 429, 502, 503)


class ResearchRequest(Strict):
    question: Question
    knobs: Annotated[SomeKnobs, Field(default_factory=dict)]
    """The knobs to turn, by group; every other one is as `GET /config` says."""
    queries: Queries = ()
    """What to search for, in place of queries of the chat model."""


@router.post("/qa", responses=_FAILURES)
async def ask_qa(request: Request, body: QARequest, service: ServiceOf, session: SessionOf) -> QAResponse:
    """Answer a question with the best passages. The question itself is what is searched.

    A model or a search that fails is told in `error`, with the status 200 and what was retrieved. Where nothing
    was retrieved and no chat model works either, the reply is a problem with the status 503.
    """
    own = session.knobs_for(Method.QA)
    top_k = body.top_k if "top_k" in body.model_fields_set else _within(own.rank)
    knobs = replace(own, search=body.search(own.search), rank=replace(own.rank, top_k=top_k))
    answers = None if body.fresh else session.recent_answers(service.settings().answer_cache_seconds)
    steps = run_steps(
        request, service.runs, body.question, knobs, session, queries=body.queries, answers=answers
    )
    run = await ended_run(request, steps)
    unsaved = await service.unsaved(run.id)
    if not run.error or nothing_found(run):
        return qa(run, unsaved=unsaved)
    others = service.runs.engine.alternative_backends(run, session.access) if _search_failed(run) else ()
    if status := await _refused_status(run, service, session):
        raise Refusal(status, run.error.message, run.error.hint, run=run.id, alternatives=others)
    return qa(run, others, unsaved)


@router.post("/query", responses=_FAILURES)
async def ask_query(
    request: Request, body: QueryRequest, service: ServiceOf, session: SessionOf
) -> QueryResponse:
    """Answer from passages above a threshold, within the time that `OPENQUERY_QUERY_SECONDS` gives.

    When there are none, no model is asked. When the time is over, the answer is made of what there is.
    """
    seconds = service.settings().query_seconds
    budget = TimeBudget(seconds) if seconds else UNLIMITED
    own, sent_fields = session.knobs_for(Method.QUERY), body.model_fields_set
    top_k = body.max_results if "max_results" in sent_fields else _within(own.rank)
    least = body.similarity_threshold if "similarity_threshold" in sent_fields else own.rank.min_similarity
    rank = replace(own.rank, top_k=top_k, min_similarity=least)
    knobs = replace(own, search=body.search(own.search), rank=rank)
    run = await finished_run(
        request, service.runs, body.query, knobs, session, queries=body.queries, budget=budget
    )
    if run.error and not nothing_found(run):
        raise Refusal.of(run.error, run.id)
    return query(run, await service.unsaved(run.id))


@router.post(
    "/research",
    response_model=RunView,
    responses={
        200: {
            "description": "The run, or with Accept: text/event-stream its events",
            "content": {EVENT_STREAM: {}},
        },
        **_FAILURES,
    },
)
async def research(
    request: Request,
    body: Annotated[ResearchRequest, Body()],
    service: ServiceOf,
    session: SessionOf,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response | RunView:
    """Answer a question with every knob of the page. Closing the connection stops the run."""
    knobs = with_knobs(session.knobs_for(Method.RESEARCH), body.knobs)
    if EVENT_STREAM not in accept:
        run = await finished_run(request, service.runs, body.question, knobs, session, queries=body.queries)
        return view(run, plain(run.knobs), await service.unsaved(run.id))
    steps = run_steps(request, service.runs, body.question, knobs, session, queries=body.queries)
    return StreamingResponse(
        _events(await started_stream(steps), service),
        media_type=EVENT_STREAM,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def _within(knobs: RankKnobs) -> int:
    """The configured number of passages, within what `POST /qa` and `POST /query` may give."""
    return min(max(knobs.top_k, 1), 20)


def _search_failed(run: Run) -> bool:
    return run.error is not None and run.error.part == "search"


async def _refused_status(run: Run, service: Service, session: Session) -> int | None:
    """The status of the problem for a failed run; None where its response says what failed.

    Other people's servers failed (502 elsewhere): only where there are neither sources nor a chat model that
    works is the service not available.
    """
    status = STATUS_OF_PART.get(run.error.part, 500) if run.error else 200
    if status != 502:
        return None if run.text else status
    if run.text or run.sources:
        return None
    works = await asyncio.to_thread(service.runs.call, chat_works(service.runs.engine, session.access))
    return None if works else 503


async def started_stream(steps: AsyncGenerator[RunStep]) -> AsyncGenerator[RunStep]:
    """The steps of a run that has been started, so that what forbids it is told before the response begins."""
    await anext(steps)
    return steps


async def _events(steps: AsyncGenerator[RunStep], service: Service) -> AsyncGenerator[bytes]:
    """Server-sent events: each event under its class's name, at last `result` with the run in short."""
    number = 0
    async with aclosing(steps):
        async for record, run in steps:
            if record is not None:
                number += 1
                yield _event(number, record)
            elif run.live:
                yield b": still waiting\n\n"
            else:
                unsaved = await service.unsaved(run.id)
                data = view(run, plain(run.knobs), unsaved).model_dump_json().encode()
                yield b"event: result\nid: %d\ndata: %b\n\n" % (number + 1, data)


def _event(number: int, record: Record) -> bytes:
    """JSON holds no line break, so the data is one line. Vectors, the bulk of an index, are left out."""
    event = record.event
    if isinstance(event, Indexed):
        event = Indexed(replace(event.index, vectors=None, question=None))
    name = type(event).__name__.encode()
    return b'event: %b\nid: %d\ndata: {"at":%.4f,"event":%b}\n\n' % (
        name,
        number,
        record.at,
        event_to_json(event),
    )
