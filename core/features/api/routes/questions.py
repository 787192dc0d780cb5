"""Questions: `POST /qa`, `POST /query`, `POST /research`, and `POST /{method}/query` to a method by its name."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Body, Header, Response
from pydantic import Field, SecretStr

from core.config.run_knobs import Method
from core.features.api.responses.agent_messages import AgentResponse, agent_response
from core.features.api.responses.answers import (
    QARequest,
    QAResponse,
    QueryRequest,
    QueryResponse,
    nothing_found,
    qa_response,
    query_response,
)
from core.features.api.responses.run_view import RunView, run_view
from core.features.api.run_following import EVENT_STREAM, FollowerOf, RunFollower, RunStep, streamed
from core.features.api.sessions import Endpoint
from core.features.api.strict_json import (
    FromPagesOrSearch,
    Queries,
    Question,
    SomeKnobs,
    Strict,
    StrictRoute,
    with_knobs,
)
from core.run.codec import event_to_json, without_vectors
from core.run.events import Record
from core.run.state import Run
from core.runtime.health import chat_works
from core.runtime.logs import redact
from core.serving.problems import STATUS_OF_PART, Refusal, documented
from core.stages.time_budget import UNLIMITED, TimeBudget

router = APIRouter(route_class=StrictRoute, tags=["questions"])

_FAILURES = documented(409, 413, 422, 429, 502, 503)


class ResearchRequest(Strict):
    """The body of `POST /research`."""

    question: Question
    knobs: Annotated[SomeKnobs, Field(default_factory=dict)]
    """Knobs to set, by group. `GET /config` has the values of the others."""
    queries: Queries = ()
    """What to search for, in place of queries of the chat model."""
    method: Annotated[Method | None, Field(strict=False)] = None
    """How the run is steered, as the knob `run.method`, which it takes the place of."""
    answer_from: FromPagesOrSearch = None


@router.post("/qa", responses=_FAILURES)
async def ask_qa(body: QARequest, follower: FollowerOf) -> QAResponse:
    """Answer a question with the best passages. The question itself is what is searched.

    The failure of a model or a search is in `error`, with the status 200 and what was retrieved. Where nothing
    was retrieved and no chat model works either, the reply is a problem with the status 503.
    """
    session, cached_seconds = follower.session, follower.service.settings().answer_cache_seconds
    knobs = body.knobs(session.knobs_for(Endpoint.QA))
    answers = None if body.fresh else session.recent_answers(cached_seconds)
    steps = follower.steps(
        body.question, knobs, queries=body.queries, answers=answers, answer_from=body.answer_from
    )
    run = await follower.ended(steps)
    unsaved = await follower.unsaved(run)
    if not run.error or nothing_found(run):
        return qa_response(run, unsaved=unsaved)
    others = follower.alternatives(run)
    if status := await _refused_status(run, follower):
        raise Refusal(status, run.error.message, run.error.hint, run=run.id, alternatives=others)
    return qa_response(run, others, unsaved)


@router.post("/query", responses=_FAILURES)
async def ask_query(body: QueryRequest, follower: FollowerOf) -> QueryResponse:
    """Answer from passages above a threshold, within the time that `OPENQUERY_QUERY_SECONDS` gives.

    When there are none, no model is asked. When the time is over, the answer is made of what has been found.
    """
    seconds = follower.service.settings().query_seconds
    budget = TimeBudget(seconds) if seconds else UNLIMITED
    knobs = body.knobs(follower.session.knobs_for(Endpoint.QUERY))
    steps = follower.steps(
        body.query, knobs, queries=body.queries, budget=budget, answer_from=body.answer_from
    )
    run = await follower.finished(steps)
    if run.error and not nothing_found(run):
        raise Refusal.of(run.error, run.id)
    return query_response(run, await follower.unsaved(run))


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
    body: Annotated[ResearchRequest, Body()],
    follower: FollowerOf,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response | RunView:
    """Answer a question with every knob of the page. Closing the connection stops the run."""
    knobs = with_knobs(follower.session.knobs_for(Endpoint.RESEARCH), body.knobs)
    if body.method:
        knobs = replace(knobs, run=replace(knobs.run, method=body.method))
    steps = follower.steps(body.question, knobs, queries=body.queries, answer_from=body.answer_from)
    if EVENT_STREAM not in accept:
        run = await follower.finished(steps)
        return run_view(run, follower.service.prices, await follower.unsaved(run))
    return await streamed(steps, _events(steps, follower))


async def _refused_status(run: Run, follower: RunFollower) -> int | None:
    """Return the problem status of a failed run, or None if its response tells the failure.

    Other people's servers failed (502 elsewhere): only where there are neither sources nor a chat model that
    works is the service not available.
    """
    status = STATUS_OF_PART.get(run.error.part, 500) if run.error else 200
    if status != 502:
        return None if run.text else status
    if run.text or run.sources:
        return None
    runs = follower.service.runs
    works = await asyncio.to_thread(runs.call, chat_works(runs.engine, follower.session.access))
    return None if works else 503


async def _events(steps: AsyncGenerator[RunStep], follower: RunFollower) -> AsyncGenerator[bytes]:
    """Server-sent events: each event under its class's name, at last `result` with the run in short."""
    number = 0
    async with aclosing(steps):
        async for record, run, _ in steps:
            if record is not None:
                number += 1
                yield _event(number, record)
            elif run.live:
                yield b": still waiting\n\n"
            else:
                data = (
                    run_view(run, follower.service.prices, await follower.unsaved(run))
                    .model_dump_json()
                    .encode()
                )
                yield b"event: result\nid: %d\ndata: %b\n\n" % (number + 1, data)


def _event(number: int, record: Record) -> bytes:
    """JSON holds no line break, so the data is one line. Vectors, the bulk of an index, are left out."""
    event = without_vectors(record.event)
    name = type(event).__name__.encode()
    return b'event: %b\nid: %d\ndata: {"at":%.4f,"event":%b}\n\n' % (
        name,
        number,
        record.at,
        event_to_json(event),
    )


class Message(Strict):
    """The body of `POST /{method}/query`."""

    user_query: Question
    api_key: Annotated[SecretStr, Field(max_length=1000)] = SecretStr("")
    """For the chat model's server, in place of the session's or the operator's, for this question alone."""


@router.post("/{method}/query", responses=documented(409, 413, 422, 429, 502, 503))
async def ask_method(method: Endpoint, body: Message, follower: FollowerOf) -> AgentResponse:
    """Answer as the session's configuration of the method says. A run that fails is a reply whose `error` says why."""
    if body.api_key.get_secret_value():
        redact(body.api_key)
        session = follower.session
        follower.session = replace(session, access=replace(session.access, api_key=body.api_key))
    try:
        steps = follower.steps(body.user_query, follower.session.knobs_for(method))
        run = await follower.finished(steps)
    except Refusal as refusal:
        failed = await asyncio.to_thread(follower.service.runs.get, refusal.run) if refusal.run else None
        if failed is None or failed.error is None:
            raise
        run = failed
    return agent_response(run, await follower.unsaved(run))
