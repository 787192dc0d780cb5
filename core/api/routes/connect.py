"""A session with servers of one's own: `POST /connect`, `GET /session`, and their ends."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated, Any, Self

from fastapi import APIRouter
from pydantic import BaseModel, Field, SecretStr, model_validator

from core.api.problems import Refusal, documented
from core.api.routes.uploads import FileState, state_of
from core.api.service import ServiceOf, SessionOf, Token
from core.api.sessions import HEADER, IDLE_SECONDS, ChatTurn, Method
from core.api.strict_json import Strict, StrictRoute, plain
from core.config.access import Access
from core.errors import ChatFailed, LibraryFailed, SearchFailed
from core.library.session_files import SessionFiles
from core.runtime.engine import Engine
from core.runtime.logs import protect

router = APIRouter(route_class=StrictRoute, tags=["configuration"])

CHECK_SECONDS = 10.0

LISTED = 200
"""The most model names in a reply; some servers offer thousands."""


Address = Annotated[str, Field(max_length=2000, pattern=r"^(https?://[^\s@]+)?$")]
Secret = Annotated[SecretStr, Field(max_length=1000)]


class ConnectRequest(Strict):
    """Empty fields are the operator's."""

    base_url: Address = ""
    """An OpenAI-compatible server; most addresses end in /v1."""
    api_key: Secret | None = None
    model: Annotated[str, Field(max_length=200)] = ""
    searxng_url: Address = ""
    searxng_username: Annotated[str, Field(max_length=200)] = ""
    """For a SearXNG behind basic authentication."""
    searxng_password: Secret | None = None
    qdrant_url: Address = ""
    qdrant_api_key: Secret | None = None

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if (self.searxng_username or self.searxng_password) and not self.searxng_url:
            raise ValueError("searxng_username and searxng_password need a searxng_url")
        if self.qdrant_api_key and not self.qdrant_url:
            raise ValueError("qdrant_api_key needs a qdrant_url")
        return self

    def access(self) -> Access:
        return Access(
            api_key=self.api_key,
            base_url=self.base_url,
            chat_model=self.model,
            searxng_url=self.searxng_url,
            searxng_username=self.searxng_username,
            searxng_password=self.searxng_password,
            qdrant_url=self.qdrant_url,
            qdrant_api_key=self.qdrant_api_key,
        )


class ConnectResponse(BaseModel):
    """What was given is not among it."""

    session: str
    """To be sent in the header X-OpenQuery-Session."""
    model: str
    """Who will write. Empty: nobody, answers are extractive."""
    offered: list[str]
    collections: list[str]
    """Of the Qdrant that was given; empty without one."""
    idle_seconds: float
    """The session ends when it was not used for so long."""


class SessionData(BaseModel):
    """What a session keeps in memory, until it ends."""

    messages: list[ChatTurn]
    """Questions and answers, oldest first; the last 200."""
    config: dict[str, dict[str, dict[str, Any]]]
    """The knobs by method."""
    model: str
    """Who writes. Empty: nobody, answers are extractive."""
    brought: list[str]
    """What of the session's is its own: api_key, base_url, searxng, qdrant. Never what it is."""
    files: list[FileState]
    """What was sent with `PUT /session/files/{name}`."""
    idle_seconds: float


@router.post("/connect", status_code=201, responses=documented(413, 422))
async def connect(given: ConnectRequest, service: ServiceOf, session: SessionOf) -> ConnectResponse:
    """Open a session, once each server that was given has been asked whether it works."""
    access, runs = given.access(), service.runs
    protect(access.api_key, access.searxng_password, access.qdrant_api_key)
    try:
        model, offered, names = await asyncio.to_thread(runs.call, _all_asked(runs.engine, access))
        files = await asyncio.to_thread(runs.call, _no_files(runs.engine))
    except (ChatFailed, SearchFailed, LibraryFailed) as error:
        raise Refusal(422, error.message, error.hint) from error
    return ConnectResponse(
        session=service.sessions.open(replace(access, files=files), session.knobs, model),
        model=model,
        offered=list(offered[:LISTED]),
        collections=list(names[:LISTED]),
        idle_seconds=IDLE_SECONDS,
    )


@router.get("/session", responses=documented(422))
async def get_session(session: SessionOf, token: Token = None) -> SessionData:
    """What the server keeps of the caller's session. No key, name or address is among it."""
    if token is None:
        raise Refusal(403, "No session is named.", f"Open one with POST /connect and send it as {HEADER}.")
    access = session.access
    return SessionData(
        messages=list(session.messages),
        config={method: plain(session.knobs_for(method)) for method in Method},
        model=session.model,
        brought=[
            name
            for name, there in (
                ("api_key", access.api_key),
                ("base_url", access.base_url),
                ("searxng", access.searxng_url),
                ("qdrant", access.qdrant_url),
            )
            if there
        ],
        files=[state_of(one) for one in files.files]
        if isinstance(files := access.files, SessionFiles)
        else [],
        idle_seconds=IDLE_SECONDS,
    )


@router.delete("/session", status_code=204, responses=documented(422))
async def end_session(service: ServiceOf, session: SessionOf, token: Token = None) -> None:
    """The same as `DELETE /connect`."""
    await disconnect(service, session, token)


@router.delete("/connect", status_code=204, responses=documented(422))
async def disconnect(service: ServiceOf, _session: SessionOf, token: Token = None) -> None:
    """End the session and forget what it brought."""
    if token is not None:
        service.sessions.close(token)


async def _all_asked(engine: Engine, access: Access) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The model that will write, all that its server offers, and the collections; as each part is asked.

    Raises:
        BadInput: when an address may not be called.
        ChatFailed, SearchFailed, LibraryFailed: when a server does not do what it is there for.
    """
    (model, offered), _, names = await asyncio.gather(
        _asked(engine, access), _searched(engine, access), _opened(engine, access)
    )
    return model, offered, names


async def _no_files(engine: Engine) -> SessionFiles:
    return engine.session_files.open()


async def _searched(engine: Engine, access: Access) -> None:
    if not access.searxng_url:
        return
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await engine.searxng(access).healthy()
    except TimeoutError as error:
        raise SearchFailed(
            f"SearXNG did not answer within {CHECK_SECONDS:g} s.", hint="Check its address."
        ) from error


async def _opened(engine: Engine, access: Access) -> tuple[str, ...]:
    if not access.qdrant_url:
        return ()
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            own = engine.visitor_collections(
                access
            )  # referred to until it has answered, so that it stays open
            return await own.client.names()
    except TimeoutError as error:
        raise LibraryFailed(
            f"Qdrant did not answer within {CHECK_SECONDS:g} s.", hint="Check its address."
        ) from error


async def _asked(engine: Engine, access: Access) -> tuple[str, tuple[str, ...]]:
    """The model that will write and all that its server offers.

    Raises:
        BadInput: when the address may not be called.
        ChatFailed: when the server cannot be asked, or does not offer the model.
    """
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            server = await engine.models.chosen(access)
            if server is None:
                return "", ()
            offered = server.offered or await engine.models.offered(server)
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
