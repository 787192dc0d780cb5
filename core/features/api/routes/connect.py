"""Routes of a session with one's own servers: `/connect` and `/session`. Each server is asked once before it opens."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

from fastapi import APIRouter
from pydantic import BaseModel, Field, SecretStr, computed_field, model_validator

from core.config.access import Access
from core.errors import BadInput, ChatFailed, LibraryFailed, OpenQueryError, SearchFailed
from core.features.api.routes.uploads import FileState, session_files, state_of
from core.features.api.service import CallerOf, ServiceOf, SessionOf, Token
from core.features.api.sessions import IDLE_SECONDS, ChatTurn, Endpoint
from core.features.api.strict_json import Strict, StrictRoute
from core.features.library.services.connections import LibraryConnections
from core.runtime.engine import Engine
from core.runtime.logs import redact
from core.runtime.wiring.model_checks import CheckedModel
from core.serving.problems import Fault, Refusal, documented

router = APIRouter(route_class=StrictRoute, tags=["configuration"])

LISTED = 200
"""The most model names in a reply; some servers offer thousands."""


Address = Annotated[str, Field(max_length=2000, pattern=r"^(https?://[^\s@]+)?$")]
Secret = Annotated[SecretStr, Field(max_length=1000)]
CHECK_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UnidentifiedServer:
    """A server by its address alone, and who signs in to it."""

    url: str
    user: str = ""
    password: SecretStr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnServers:
    """The given servers that work."""

    access: Access
    model: str
    """The model that writes answers, or ""."""
    offered: tuple[str, ...]
    """Every model that its server lists."""
    tried: str
    """The test request to a model that its server does not list, as an unfinished sentence, or ""."""
    collections: tuple[str, ...]
    """The collections of the given Qdrant."""


async def checked_servers(
    engine: Engine, access: Access, service: UnidentifiedServer | None = None
) -> OwnServers:
    """Return the servers after a test request to each. `service` is used for all that it can do.

    Raises:
        BadInput: when an address may not be called.
        ChatFailed, SearchFailed, LibraryFailed: when a server fails its test request.
        Refusal: when `service` is an unknown kind of server.
    """
    if service is not None:
        access = await _with_service(engine, access, service)
    checked, _, names = await asyncio.gather(
        _check_model_server(engine, access), _check_searxng(engine, access), _check_qdrant(engine, access)
    )
    model = checked.server.model if checked else ""
    if checked and access.chat_model:
        access = replace(access, chat_model=model)
    return OwnServers(
        access=access,
        model=model,
        offered=checked.offered if checked else (),
        tried=checked.tried if checked else "",
        collections=names,
    )


async def _with_service(engine: Engine, access: Access, service: UnidentifiedServer) -> Access:
    """Fill each unset service of the access that this server can provide."""
    places = [place for place in _places(service) if place.is_free(access)]
    alone = Access(chat_model=access.chat_model)
    faults = await asyncio.gather(
        *(_fault(place.ask(engine, replace(alone, **place.fields))) for place in places)
    )
    for place, fault in zip(places, faults, strict=True):
        if fault is None:
            access = replace(access, **place.fields)
    if all(faults):
        refused = next((fault for fault in faults if isinstance(fault, BadInput)), None)
        raise refused or Refusal(
            422,
            "The service at this url can neither search nor write answers.",
            "It may be a SearXNG, a Qdrant or an OpenAI-compatible server; most addresses of the latter end in /v1.",
            errors=[
                Fault(field="url", message=f"As {place.kind}: {fault.message}")
                for place, fault in zip(places, faults, strict=True)
                if fault
            ],
        )
    return access


@dataclass(frozen=True, slots=True)
class _Place:
    """A kind of server that a service may be: the fields of `Access` that it fills, and the call that checks it."""

    kind: str
    fields: dict[str, Any]
    ask: Callable[[Engine, Access], Awaitable[object]]

    def is_free(self, access: Access) -> bool:
        """Whether none of the fields is set. A key without an address, for one, is that of another server."""
        return not any(getattr(access, name) for name in self.fields)


def _places(service: UnidentifiedServer) -> tuple[_Place, ...]:
    url, user, password = service.url, service.user, service.password
    searxng = {"searxng_url": url, "searxng_username": user, "searxng_password": password}
    return (
        _Place("a SearXNG", searxng, _check_searxng),
        _Place("a Qdrant", {"qdrant_url": url, "qdrant_api_key": password}, _check_qdrant),
        _Place("a model server", {"base_url": url, "api_key": password}, _check_model_server),
    )


async def _fault(call: Awaitable[object]) -> OpenQueryError | None:
    """Return why a server failed its test request, or None."""
    try:
        await call
    except (BadInput, ChatFailed, SearchFailed, LibraryFailed) as error:
        return error
    return None


@asynccontextmanager
async def _answering_in_time(server: str, failure: type[OpenQueryError]) -> AsyncGenerator[None]:
    """Raise `failure` when a server has not answered after `CHECK_SECONDS`."""
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            yield
    except TimeoutError as error:
        message = f"{server} did not answer within {CHECK_SECONDS:g} s."
        raise failure(message, hint="Check its address.") from error


async def _check_searxng(engine: Engine, access: Access) -> None:
    if access.searxng_url:
        async with _answering_in_time("SearXNG", SearchFailed):
            await engine.searches.searxng(access).healthy()


async def _check_qdrant(engine: Engine, access: Access) -> tuple[str, ...]:
    """The collections of the Qdrant server."""
    if not access.qdrant_url:
        return ()
    async with _answering_in_time("Qdrant", LibraryFailed):
        own = engine.part(LibraryConnections).searchable.on_own_server(
            access
        )  # referred to until it has answered, so that it stays open
        return await own.client.names()


async def _check_model_server(engine: Engine, access: Access) -> CheckedModel | None:
    """Return the model that will write, after a test request.

    Raises:
        BadInput: when the address may not be called.
        ChatFailed: when the model does not answer.
    """
    async with _answering_in_time("The model server", ChatFailed):
        return await engine.model_checks.check(access)


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
        config={method: session.knobs_for(method).to_json() for method in Endpoint},
        model=session.model,
        provided=session.access.provided,
        uploaded_files={file.name: file for file in files},
        files=files,
    )


@router.delete("/session", status_code=204, responses=documented(422))
async def end_session(service: ServiceOf, session: SessionOf, token: Token = None) -> None:
    """The same as `DELETE /connect`."""
    await disconnect(service, session, token)
