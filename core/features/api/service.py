"""Shared state of the HTTP service: runs, sessions, metrics, latest health probes."""

import asyncio
import tempfile
import threading
import time
from collections.abc import AsyncIterable, Callable
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated

from fastapi import Depends, Header, Request

from core.config.knobs import Knobs
from core.config.permissions import Action, Caller, Role
from core.config.prices import Prices
from core.config.schema import nested
from core.config.settings import Settings
from core.errors import LibraryFailed, OpenQueryError
from core.features.api.metrics import Metrics
from core.features.api.sessions import HEADER, Session, Sessions
from core.runtime.health import Probe
from core.runtime.registry import RunRegistry
from core.serving.problems import Refusal

MOST_UPLOADS = 16
"""Files that a process receives at the same time."""


class Uploads:
    """The files that one process is receiving."""

    def __init__(self) -> None:
        self._receiving = 0

    async def receive(self, chunks: AsyncIterable[bytes], folder: Path) -> IO[bytes]:
        """A file from a client, to be closed: without a name in `folder`, so that none remains after a crash.

        Raises:
            Refusal: while `MOST_UPLOADS` others are being received.
            LibraryFailed: when it cannot be written to disk.
        """
        if self._receiving >= MOST_UPLOADS:
            raise Refusal(
                503,
                f"{MOST_UPLOADS} files are being received.",
                "Send this one again in a few seconds.",
                headers={"Retry-After": "5"},
            )
        self._receiving += 1
        file: IO[bytes] | None = None
        try:
            file = await asyncio.to_thread(_unnamed_file, folder)
            async for chunk in chunks:
                await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(file.flush)
        except BaseException as error:
            if file:
                file.close()
            if isinstance(error, OSError):
                raise LibraryFailed(
                    f"The file could not be received: {error.strerror}.",
                    hint="Check the space and rights of the data folder.",
                ) from error
            raise
        finally:
            self._receiving -= 1
        return file


def _unnamed_file(folder: Path) -> IO[bytes]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return tempfile.TemporaryFile(dir=folder)


class Service:
    """The state of one application. `runs` is created on first use."""

    def __init__(self, source: Callable[[], RunRegistry], settings: Callable[[], Settings]) -> None:
        self.settings = settings
        """Returns the operator's settings, before there are runs too.

        Raises:
            BadInput: when they cannot be used.
        """
        self._source = source
        self._runs: RunRegistry | None = None
        self._lock = threading.Lock()
        self.metrics = Metrics()
        self.sessions = Sessions()
        self.uploads = Uploads()
        self.own = Session(keeps_messages=False)
        """The shared session of callers without a session."""
        self.probed: tuple[float, datetime, tuple[Probe, ...]] | None = None
        """The latest health probes, with their time by the monotonic and the wall clock."""
        self.probing: asyncio.Task[None] | None = None
        """Asks the parts; requests that come meanwhile share it."""
        self.following: set[asyncio.Task[None]] = set()
        """Tasks that follow runs whose client does not wait."""
        self.began = time.monotonic()

    @property
    def runs(self) -> RunRegistry:
        """The registry of runs. The first access opens files: not for the thread of an event loop.

        Raises:
            BadInput: when the settings cannot be used.
        """
        return self.open()

    def open(self) -> RunRegistry:
        """Make the registry of runs if needed, count its runs, and return it. Raises `BadInput` for unusable settings."""
        with self._lock:
            if self._runs is None:
                self._runs = self._source()
                self._runs.observers += (self.metrics.observe,)
                self.own.knobs = operator_knobs(self._runs.settings)
            return self._runs

    def public_hosts(self) -> tuple[str, ...]:
        """Return `Settings.public_hosts`, or nothing if the settings are unusable."""
        try:
            return self.settings().public_hosts
        except OpenQueryError:
            return ()

    @property
    def prices(self) -> Prices:
        """The model prices. Raises `BadInput` for unusable settings."""
        return self.runs.engine.prices.read()

    async def unsaved(self, run_id: str) -> str:
        """Return the reason why a run is not stored, or "" if it is."""
        return await asyncio.to_thread(self.runs.unsaved, run_id)

    @property
    def defaults(self) -> Knobs:
        """The knobs of callers that set none."""
        return operator_knobs(self.settings())

    def close(self) -> None:
        """Close the registry of runs, if there is one."""
        with self._lock:
            if self._runs is not None:
                self._runs.close()
                self._runs = None


def operator_knobs(settings: Settings) -> Knobs:
    """The knobs with what the operator's settings say."""
    return Knobs.parse(nested(settings.knobs))


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


ServiceOf = Annotated[Service, Depends(_service)]


def _caller(request: Request, service: ServiceOf) -> Caller:
    return Caller.of(Role.TOKEN, request.scope["openquery.owner"], shared=service.settings().shared)


CallerOf = Annotated[Caller, Depends(_caller)]

Token = Annotated[
    str | None, Header(alias=HEADER, description="The session that POST /connect opened.", max_length=100)
]


def session_named(service: Service, caller: Caller, token: str | None) -> Session:
    """Return the session of a token, or the shared one without a token.

    Raises:
        Refusal: when the session that is named is over.
        NotAllowed: when another caller opened it.
    """
    if token is None:
        return service.own
    session = service.sessions.use(token)
    if session is None:
        raise Refusal(
            403, "There is no such session, or it was idle for too long.", "Open one with POST /connect."
        )
    caller.require(Action.USE_SESSION, session.owner)
    return session


async def _session(service: ServiceOf, caller: CallerOf, token: Token = None) -> Session:
    return session_named(service, caller, token)


SessionOf = Annotated[Session, Depends(_session)]
