"""A question to a method by its name, answered as agent messages: `POST /{method}/query`."""

import asyncio
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, SecretStr

from core.api.problems import Refusal, documented
from core.api.responses.agent_messages import AgentResponse, agent_response
from core.api.run_following import FollowerOf
from core.api.sessions import Method
from core.api.strict_json import Question, Strict, StrictRoute
from core.runtime.logs import redact

router = APIRouter(route_class=StrictRoute, tags=["questions"])


class Message(Strict):
    """The body of `POST /{method}/query`."""

    user_query: Question
    api_key: Annotated[SecretStr, Field(max_length=1000)] = SecretStr("")
    """For the chat model's server, in place of the session's or the operator's, for this question alone."""


@router.post("/{method}/query", responses=documented(409, 413, 422, 429, 502, 503))
async def ask_method(method: Method, body: Message, follower: FollowerOf) -> AgentResponse:
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
