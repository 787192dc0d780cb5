"""Questions: `POST /qa`, `POST /query`, `POST /research`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Body, Header, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from core.api.problems import Refusal, documented
from core.api.responses import (
    QARequest,
    QAResponse,
    QueryRequest,
    QueryResponse,
    RunView,
    nothing_found,
    qa,
    query,
    view,
)
from core.api.run_following import RunStep, finished_run, run_steps
from core.api.service import ServiceOf, SessionOf
from core.api.sessions import Method
from core.api.strict_json import Question, SomeKnobs, Strict, StrictRoute, plain, with_knobs
from core.config.knobs import PlanKnobs
from core.run.codec import event_to_json
from core.run.events import Indexed, Record

router = APIRouter(route_class=StrictRoute, tags=["questions"])

EVENT_STREAM = "text/event-stream"

_FAILURES = documented(409, 413, 422, 429, 502, 503)


class ResearchRequest(Strict):
    question: Question
    knobs: Annotated[SomeKnobs, Field(default_factory=dict)]
    """The knobs to turn, by group; every other one is as `GET /config` says."""


@router.post("/qa", responses=_FAILURES)
async def ask_qa(request: Request, asked: QARequest, service: ServiceOf, session: SessionOf) -> QAResponse:
    """Answer a question with the best passages. The question itself is what is searched."""
    own = session.knobs_for(Method.QA)
    knobs = replace(
        own,
        plan=PlanKnobs(queries=1),
        search=asked.search(own.search),
        rank=replace(own.rank, top_k=asked.top_k),
    )
    return qa(await finished_run(request, service.runs, asked.question, knobs, session))


@router.post("/query", responses=_FAILURES)
async def ask_query(
    request: Request, asked: QueryRequest, service: ServiceOf, session: SessionOf
) -> QueryResponse:
    """Answer from passages above a threshold. When there are none, no model is asked."""
    own = session.knobs_for(Method.QUERY)
    rank = replace(own.rank, top_k=asked.max_results, min_similarity=asked.similarity_threshold)
    search = asked.search(own.search)
    knobs = replace(own, plan=PlanKnobs(queries=1), search=search, rank=rank)
    run = await finished_run(request, service.runs, asked.query, knobs, session)
    if run.error and not nothing_found(run):
        raise Refusal.of(run.error, run.id)
    return query(run)


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
    asked: Annotated[ResearchRequest, Body()],
    service: ServiceOf,
    session: SessionOf,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response | RunView:
    """Answer a question with every knob of the page. Closing the connection stops the run."""
    knobs = with_knobs(session.knobs_for(Method.RESEARCH), asked.knobs)
    if EVENT_STREAM not in accept:
        run = await finished_run(request, service.runs, asked.question, knobs, session)
        return view(run, plain(run.knobs))
    return StreamingResponse(
        _events(await started_stream(run_steps(request, service.runs, asked.question, knobs, session))),
        media_type=EVENT_STREAM,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def started_stream(steps: AsyncGenerator[RunStep]) -> AsyncGenerator[RunStep]:
    """The steps of a run that has been started, so that what forbids it is told before the response begins."""
    await anext(steps)
    return steps


async def _events(steps: AsyncGenerator[RunStep]) -> AsyncGenerator[bytes]:
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
                data = view(run, plain(run.knobs)).model_dump_json().encode()
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
