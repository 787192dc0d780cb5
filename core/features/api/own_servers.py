"""Servers that a session brings: each is asked once, before the session is opened."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from pydantic import SecretStr

from core.config.access import Access
from core.errors import BadInput, ChatFailed, LibraryFailed, OpenQueryError, SearchFailed
from core.features.library.services.connections import LibraryConnections
from core.runtime.engine import Engine
from core.runtime.wiring.model_checks import CheckedModel
from core.serving.problems import Fault, Refusal

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
