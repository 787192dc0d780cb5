"""OpenQuery as a model for any client of OpenAI's API: `POST /v1/chat/completions`, `GET /v1/models`."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any

import orjson
from fastapi import APIRouter, Response

from core.features.api.responses.answers import answer_of, note_fields
from core.features.api.run_following import (
    EVENT_STREAM,
    FollowerOf,
    RunFollower,
    RunStep,
    refusal_of,
    streamed,
)
from core.features.api.sessions import Endpoint
from core.features.api.strict_json import StrictRoute
from core.features.openai.chat.messages import read_messages
from core.features.openai.chat.requests import ChatRequest, check_model, check_request
from core.features.openai.chat.responses import (
    AnswerText,
    ChatCompletion,
    Model,
    ModelList,
    completion,
    completion_chunk,
    completion_usage,
    finish_reason,
    sent_text,
)
from core.run.events import Event, ModelThought, TokensWritten
from core.serving.problems import documented, openai_error

router = APIRouter(prefix="/v1", route_class=StrictRoute, tags=["OpenAI-compatible"])


@router.get("/models", responses=documented())
async def list_models() -> ModelList:
    """List the only model."""
    return ModelList(data=[Model(created=0)])


@router.get("/models/{name:path}", responses=documented(404))
async def get_model(name: str) -> Model:
    """Describe the model `openquery`. Any other name is a 404."""
    check_model(name)
    return Model(created=0)


@router.post(
    "/chat/completions",
    response_model=ChatCompletion,
    responses={
        200: {"description": "The answer, or with stream its pieces", "content": {EVENT_STREAM: {}}},
        **documented(404, 409, 413, 429, 502, 503),
    },
)
async def chat_completions(body: ChatRequest, follower: FollowerOf) -> Response | ChatCompletion:
    """Answer the user's last message. Earlier messages are its history.

    System and developer messages reach the model that writes the answer. Tasks of the client, such as a title, are
    answered by the model alone. What would change the kind of answer is refused; hints to a model are ignored.
    """
    check_request(body)
    settings = follower.service.settings()
    # In a thread: a message may be long.
    read = await asyncio.to_thread(read_messages, body, accepts_instructions=settings.client_prompts)
    knobs, links = body.knobs(follower.session.knobs_for(Endpoint.CHAT)), settings.v1_sources == "links"
    question, client = read.question, read.client
    if not question:
        question, client = await follower.condensed(client, knobs)
    steps = follower.steps(
        question, knobs, said=read.said, sent=partial(sent_text, links=links), client=client
    )
    if not body.stream:
        run = await follower.finished(steps)
        return completion(run, await follower.unsaved(run), links=links)
    with_usage = bool(body.stream_options and body.stream_options.include_usage)
    return await streamed(steps, _pieces(follower, steps, AnswerText(links=links), with_usage=with_usage))


async def _pieces(
    follower: RunFollower, steps: AsyncGenerator[RunStep], text: AnswerText, *, with_usage: bool
) -> AsyncGenerator[bytes]:
    """The answer as it is written. A failure in the middle is sent as OpenAI's API sends it, and ends the stream."""
    created, whole = int(time.time()), {"usage": None} if with_usage else {}
    async with aclosing(steps):
        run = None
        async for record, current_run, _ in steps:
            if run is None:
                yield _data(
                    completion_chunk(current_run, created, {"role": "assistant", "content": ""}, **whole)
                )
            run = current_run
            if record is None and run.live:
                yield b": still waiting\n\n"
            elif record is not None and (piece := text.piece(run, written_by(record.event))):
                yield _data(completion_chunk(run, created, {"content": piece}, **whole))
    if run is None:
        return
    if refusal := refusal_of(run):
        yield _data({"error": openai_error(refusal)})
        return
    if not run.text:
        yield _data(completion_chunk(run, created, {"content": answer_of(run)}, **whole))
    elif rest := text.end(run):
        yield _data(completion_chunk(run, created, {"content": rest}, **whole))
    cited = [mark.model_dump() for mark in text.annotations(run)]
    beside = note_fields(run, await follower.unsaved(run))
    yield _data(
        completion_chunk(
            run, created, {"annotations": cited} if cited else {}, finish_reason(run), **whole, **beside
        )
    )
    if with_usage:
        yield _data(completion_chunk(run, created, None, usage=completion_usage(run).model_dump()))
    yield b"data: [DONE]\n\n"


def _data(value: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"


def written_by(event: Event) -> str:
    """Return what an event adds to the answer. What was sent cannot be taken back: the answer then begins below it."""
    if isinstance(event, TokensWritten):
        return event.text
    return "\n\n" if isinstance(event, ModelThought) and event.takes_back else ""
