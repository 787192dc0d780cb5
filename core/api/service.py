"""What the paths of the service share: the runs, the sessions, the metrics, the latest health."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Header, Request

from core.api.metrics import Metrics
from core.api.problems import Refusal
from core.api.sessions import HEADER, Session, Sessions
from core.config.settings import Settings
from core.runtime.health import Probe
from core.runtime.registry import RunRegistry


class Service:
    """One for each application. `runs` are made, or fetched, when they are first needed."""

    def __init__(self, source: Callable[[], RunRegistry]) -> None:
        self._source = source
        self._runs: RunRegistry | None = None
        self._lock = threading.Lock()
        self.metrics = Metrics()
        self.sessions = Sessions()
        self.own = Session(keeps_messages=False)
        """What holds for callers without a session."""
        self.probed: tuple[float, datetime, tuple[Probe, ...]] | None = None
        """When (by two clocks) the parts were asked last, and what they said."""
        self.probing = asyncio.Lock()

    @property
    def runs(self) -> RunRegistry:
        """The runs. The first time this opens files: not for an event loop's thread.

        Raises:
            BadInput: when the settings cannot be used.
        """
        with self._lock:
            if self._runs is None:
                self._runs = self._source()
                self._runs.observers += (self.metrics.observe,)
            return self._runs

    def settings(self) -> Settings:
        return self.runs.settings

    def close(self) -> None:
        """End the runs, if there ever were any."""
        with self._lock:
            if self._runs is not None:
                self._runs.close()
                self._runs = None


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


ServiceOf = Annotated[Service, Depends(_service)]

Token = Annotated[
    str | None, Header(alias=HEADER, description="The session that POST /connect opened.", max_length=100)
]


async def _session(service: ServiceOf, token: Token = None) -> Session:
    """The caller's session; what holds for everybody when no session is named.

    Raises:
        Refusal: when the session that is named is over.
    """
    if token is None:
        return service.own
    session = service.sessions.use(token)
    if session is None:
        raise Refusal(
            403, "There is no such session, or it was idle for too long.", "Open one with POST /connect."
        )
    return session


SessionOf = Annotated[Session, Depends(_session)]
