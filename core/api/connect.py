"""A session with a model server of one's own: `POST /connect` and `DELETE /connect`."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field, SecretStr

from core.api.problems import Refusal, documented
from core.api.service import ServiceOf, SessionOf, Token
from core.api.sessions import IDLE
from core.api.strict import Strict, StrictRoute
from core.bootstrap import Access, Engine
from core.errors import ChatFailed

router = APIRouter(route_class=StrictRoute, tags=["configuration"])

CHECK_SECONDS = 10.0

LISTED = 200
"""The most model names in a reply; some servers offer thousands."""


class ConnectRequest(Strict):
    """Empty fields are the operator's."""

    base_url: Annotated[str, Field(max_length=2000, pattern=r"^(https?://[^\s@]+)?$")] = ""
    """An OpenAI-compatible server; most addresses end in /v1."""
    api_key: Annotated[SecretStr, Field(max_length=1000)] | None = None
    model: Annotated[str, Field(max_length=200)] = ""


class ConnectResponse(BaseModel):
    """What was given is not among it."""

    session: str
    """To be sent in the header X-OpenQuery-Session."""
    model: str
    """Who will write. Empty: nobody, answers are extractive."""
    offered: list[str]
    idle_seconds: float
    """The session ends when it was not used for so long."""


@router.post("/connect", status_code=201, responses=documented(413, 422))
async def connect(given: ConnectRequest, service: ServiceOf, session: SessionOf) -> ConnectResponse:
    """Open a session, once its model server has been asked what it offers."""
    access = Access(api_key=given.api_key, base_url=given.base_url, chat_model=given.model)
    runs = service.runs
    try:
        model, offered = await asyncio.to_thread(runs.call, _asked(runs.engine, access))
    except ChatFailed as error:
        raise Refusal(422, error.message, error.hint) from error
    token = service.sessions.open(access, session.knobs)
    return ConnectResponse(session=token, model=model, offered=list(offered[:LISTED]), idle_seconds=IDLE)


@router.delete("/connect", status_code=204, responses=documented(422))
async def disconnect(service: ServiceOf, _session: SessionOf, token: Token = None) -> None:
    """End the session and forget what it brought."""
    if token is not None:
        service.sessions.close(token)


async def _asked(engine: Engine, access: Access) -> tuple[str, tuple[str, ...]]:
    """The model that will write and all that its server offers.

    Raises:
        BadInput: when the address may not be called.
        ChatFailed: when the server cannot be asked, or does not offer the model.
    """
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            server = await engine.model_server(access)
            if server is None:
                return "", ()
            offered = server.offered or await engine.offered(server)
    except TimeoutError as error:
        raise ChatFailed(
            f"The model server did not answer within {CHECK_SECONDS:g} s.", hint="Check its address."
        ) from error
    if not server.model:
        raise ChatFailed("The model server offers no model.", hint="Name one.")
    if offered and server.model not in offered:
        raise ChatFailed(
            f"The model server does not offer {server.model}.", hint=f"It offers {', '.join(offered[:8])}."
        )
    return server.model, offered
