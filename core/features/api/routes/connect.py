"""Routes of a session with one's own servers: `/connect` and `/session`."""

import asyncio
from dataclasses import replace
from typing import Annotated, Any, Self

from fastapi import APIRouter
from pydantic import BaseModel, Field, SecretStr, computed_field, model_validator

from core.config.access import Access
from core.errors import ChatFailed, LibraryFailed, SearchFailed
from core.features.api.own_servers import UnidentifiedServer, checked_servers
from core.features.api.routes.uploads import FileState, session_files, state_of
from core.features.api.service import CallerOf, ServiceOf, SessionOf, Token
from core.features.api.sessions import IDLE_SECONDS, ChatTurn, Endpoint
from core.features.api.strict_json import Strict, StrictRoute, plain
from core.features.library.services.connections import LibraryConnections
from core.runtime.logs import redact
from core.serving.problems import Refusal, documented

router = APIRouter(route_class=StrictRoute, tags=["configuration"])

LISTED = 200
"""The most model names in a reply; some servers offer thousands."""


Address = Annotated[str, Field(max_length=2000, pattern=r"^(https?://[^\s@]+)?$")]
Secret = Annotated[SecretStr, Field(max_length=1000)]


class ConnectRequest(Strict):
    """Empty fields are the operator's."""

    url: Address = ""
    """A SearXNG, Qdrant or OpenAI-compatible server. Its kind is found by test requests, and it may be of several."""
    user: Annotated[str, Field(max_length=200)] | None = None
    pwd: Secret | None = None
    """The password of `user` at `url`, or the key of a server without users."""
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
        if (self.user or self.pwd) and not self.url:
            raise ValueError("user and pwd need a url")
        if self.url and self.searxng_url and self.qdrant_url and (self.base_url or self.api_key):
            raise ValueError("url is one server too many: every kind has been given by a field of its own")
        if (self.searxng_username or self.searxng_password) and not self.searxng_url:
            raise ValueError("searxng_username and searxng_password need a searxng_url")
        if self.qdrant_api_key and not self.qdrant_url:
            raise ValueError("qdrant_api_key needs a qdrant_url")
        return self

    def service(self) -> UnidentifiedServer | None:
        """Return the server that `url` names, or None."""
        return UnidentifiedServer(url=self.url, user=self.user or "", password=self.pwd) if self.url else None

    def access(self) -> Access:
        """Return the servers and keys of the other fields."""
        servers = {name: value for name, value in self if name not in ("url", "user", "pwd", "model")}
        return Access(**servers, chat_model=self.model)


class ProvidedServers(BaseModel):
    """Which servers and keys of a session are its own: api_key, base_url, searxng, qdrant. Never what they are."""

    provided: list[str] = []

    @computed_field(json_schema_extra={"deprecated": True})  # type: ignore[prop-decorator]
    @property
    def brought(self) -> list[str]:
        """The earlier name of `provided`."""
        return self.provided


class ConnectResponse(ProvidedServers):
    """A new session. The keys and addresses that were given are not repeated."""

    session: str
    """To be sent in the header X-OpenQuery-Session."""
    model: str
    """The model that writes answers, or "" for extractive answers."""
    offered: list[str]
    """The models that its server lists: a hint, since a name that is not on the list may answer too."""
    tried: str = ""
    """The test request to a model that its server does not list, or "" for a listed model."""
    collections: list[str]
    """The collections of the given Qdrant, possibly none."""
    idle_seconds: float
    """The session ends when it was not used for so long."""


@router.post("/connect", status_code=201, responses=documented(413, 422))
async def connect(
    body: ConnectRequest, service: ServiceOf, session: SessionOf, caller: CallerOf
) -> ConnectResponse:
    """Open a session, after a test request to each given server."""
    access, runs = body.access(), service.runs
    redact(body.pwd, access.api_key, access.searxng_password, access.qdrant_api_key)
    try:
        own = await asyncio.to_thread(runs.call, checked_servers(runs.engine, access, body.service()))
        files = await asyncio.to_thread(runs.call, runs.engine.part(LibraryConnections).session_files.open())
    except (ChatFailed, SearchFailed, LibraryFailed) as error:
        raise Refusal(422, error.message, error.hint) from error
    return ConnectResponse(
        session=service.sessions.open(
            replace(own.access, files=files), session.knobs, own.model, caller.name
        ),
        model=own.model,
        offered=list(own.offered[:LISTED]),
        tried=own.tried,
        collections=list(own.collections[:LISTED]),
        provided=own.access.provided,
        idle_seconds=IDLE_SECONDS,
    )


@router.delete("/connect", status_code=204, responses=documented(422))
async def disconnect(service: ServiceOf, _session: SessionOf, token: Token = None) -> None:
    """End the session and forget what was provided for it."""
    if token is not None:
        service.sessions.close(token)


class SessionData(ProvidedServers, BaseModel):
    """The data of a session in memory. Servers and keys are named by their kind only."""

    messages: list[ChatTurn] = []
    """Questions and answers, oldest first; the last 200."""
    config: dict[str, dict[str, dict[str, Any]]] = {}
    """The knobs by method."""
    model: str = ""
    """The model that writes answers, or "" for extractive answers."""
    uploaded_files: dict[str, FileState] = {}
    """The files sent with `PUT /session/files/{name}`, by name."""
    files: list[FileState] = []
    """The same as a list."""
    idle_seconds: float = IDLE_SECONDS


@router.get("/session", responses=documented(422))
async def get_session(session: SessionOf) -> SessionData:
    """Return the data of the caller's session, without keys, names and addresses."""
    files = [state_of(file) for file in session_files(session).files]
    return SessionData(
        messages=list(session.messages),
        config={method: plain(session.knobs_for(method)) for method in Endpoint},
        model=session.model,
        provided=session.access.provided,
        uploaded_files={file.name: file for file in files},
        files=files,
    )


@router.delete("/session", status_code=204, responses=documented(422))
async def end_session(service: ServiceOf, session: SessionOf, token: Token = None) -> None:
    """The same as `DELETE /connect`."""
    await disconnect(service, session, token)
