"""Routes of OpenAI's responses API: create, get, cancel and delete a response."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from core.config.permissions import Action
from core.features.api.routes.history import stored_run
from core.features.api.run_following import EVENT_STREAM, FollowerOf, RunFollower, RunStep, streamed
from core.features.api.service import CallerOf, Service, ServiceOf
from core.features.api.sessions import Endpoint
from core.features.api.strict_json import StrictRoute
from core.features.openai.chat.responses import sent_text
from core.features.openai.responses.requests import ID, ReadRequest, ResponseRequest, read_request
from core.features.openai.responses.streaming import ResponseEvents, events_of
from core.features.openai.responses.views import (
    Deleted,
    InputList,
    ResponseView,
    response,
    response_id,
    run_of_response,
)
from core.run.run_ids import refuse_link
from core.run.state import Run
from core.serving.problems import Fault, Refusal, documented

router = APIRouter(prefix="/v1", route_class=StrictRoute, tags=["OpenAI-compatible"])

ResponseId = Annotated[str, Path(alias="id", pattern=ID)]


@router.post(
    "/responses",
    response_model=ResponseView,
    responses={
        200: {"description": "The response, or with stream its events", "content": {EVENT_STREAM: {}}},
        **documented(404, 409, 413, 429, 502, 503),
    },
)
async def create_response(body: ResponseRequest, follower: FollowerOf) -> Response | ResponseView:
    """Answer the user's last message; messages before it, or the run of `previous_response_id`, are its history.

    What would change the kind of answer is refused: tools of the client, files, images. Hints to a model are ignored.
    """
    settings = follower.service.settings()
    # In a thread: a message may be long.
    read = await asyncio.to_thread(read_request, body, accepts_instructions=settings.client_prompts)
    links = settings.v1_sources == "links"
    steps = await _steps(body, read, follower, links=links)
    if body.store is False:
        steps = _forgetting(steps, follower.service)
    echoed: dict[str, Any] = {
        "background": body.background,
        "metadata": body.metadata,
        "previous_response_id": body.previous_response_id,
        "store": body.store,
    }
    if body.background:
        run = await _in_background(steps, follower.service)
        return response(run, links=links, **echoed)
    if body.stream:
        events = ResponseEvents(links=links, echoed=echoed)
        return await streamed(steps, events_of(follower, steps, events))
    run = await follower.finished(steps)
    return response(run, await follower.unsaved(run), links=links, **echoed)


async def _steps(
    body: ResponseRequest, read: ReadRequest, follower: RunFollower, *, links: bool
) -> AsyncGenerator[RunStep]:
    """Return the steps of a new question, or of a follow-up of a run."""
    knobs = read.chat.knobs(follower.session.knobs_for(Endpoint.CHAT))
    question, client = read.messages.question, read.messages.client
    if not question:
        question, client = await follower.condensed(client, knobs)
    if body.previous_response_id and client.task is None:
        run_id = run_of_response(body.previous_response_id)
        refuse_link(run_id)
        if await asyncio.to_thread(follower.service.runs.get, run_id) is None:
            raise Refusal(
                400,
                "There is no response of this id.",
                "It may have been deleted, or was not stored.",
                errors=[Fault(field="previous_response_id", message="It names no run.")],
                code="previous_response_not_found",
            )
        return follower.follow_up(run_id, question, knobs, client)
    said = read.messages.said
    return follower.steps(question, knobs, said=said, sent=partial(sent_text, links=links), client=client)


async def _forgetting(steps: AsyncGenerator[RunStep], service: Service) -> AsyncGenerator[RunStep]:
    """Yield the steps, and delete their run once they have ended."""
    run_id = ""
    try:
        async with aclosing(steps):
            async for step in steps:
                run_id = step.run.id
                if step.is_last:
                    await asyncio.to_thread(service.runs.delete, run_id)
                    run_id = ""
                yield step
    finally:
        if run_id:  # not awaited: the caller that closes this may itself be cancelled
            asyncio.get_running_loop().run_in_executor(None, service.runs.delete, run_id)


async def _in_background(steps: AsyncGenerator[RunStep], service: Service) -> Run:
    """Return the run once it has started. It goes on without the client."""
    run = (await anext(steps)).run

    async def follow() -> None:
        async with aclosing(steps):
            async for _ in steps:
                pass

    task = asyncio.ensure_future(follow())
    service.following.add(task)
    task.add_done_callback(service.following.discard)
    return run


@router.get("/responses/{id}", responses=documented(403, 404, 503))
async def get_response(
    name: ResponseId, service: ServiceOf, stream: Annotated[bool, Query()] = False
) -> ResponseView:
    """Return the current state of a response. The id of any run is valid too."""
    if stream:
        raise Refusal(
            400,
            "A stored response is not streamed.",
            "Ask for it without stream.",
            errors=[Fault(field="stream", message="This is not supported.")],
            code="unsupported_parameter",
        )
    return await _view(service, await _run(service, name))


@router.delete("/responses/{id}", responses=documented(403, 404, 503))
async def delete_response(name: ResponseId, service: ServiceOf, caller: CallerOf) -> Deleted:
    """Stop and delete the run of a response. On a shared server, callers can delete only their own."""
    run = await _run(service, name)
    await asyncio.to_thread(service.runs.require, caller, Action.CHANGE_RUN, run.id)
    await asyncio.to_thread(service.runs.delete, run.id)
    return Deleted(id=response_id(run.id))


@router.post("/responses/{id}/cancel", responses=documented(403, 404, 409, 503))
async def cancel_response(name: ResponseId, service: ServiceOf, caller: CallerOf) -> ResponseView:
    """Stop the run of a response, and keep its results. On a shared server, callers can stop only their own."""
    run = await _run(service, name)
    await asyncio.to_thread(service.runs.require, caller, Action.CHANGE_RUN, run.id)
    await asyncio.to_thread(service.runs.stop, run.id)
    return await _view(service, await _run(service, name))


@router.get("/responses/{id}/input_items", responses=documented(403, 404, 503))
async def list_input_items(name: ResponseId, service: ServiceOf) -> InputList:
    """The message that a response answers."""
    run = await _run(service, name)
    said = run.client.message if run.client and run.client.message else run.written
    item: dict[str, Any] = {
        "id": f"msg_in_{run.id}",
        "type": "message",
        "role": "user",
        "status": "completed",
        "content": [{"type": "input_text", "text": said}],
    }
    return InputList(data=[item], first_id=item["id"], last_id=item["id"])


async def _run(service: Service, name: str) -> Run:
    run_id = run_of_response(name)
    refuse_link(run_id)
    return await stored_run(service, run_id)


async def _view(service: Service, run: Run) -> ResponseView:
    links = service.settings().v1_sources == "links"
    unsaved = await service.unsaved(run.id)
    return await asyncio.to_thread(partial(response, run, unsaved, links=links))
