"""What a caller brings for itself, for a while: model server, key, configuration. In memory and nowhere else."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel

from core.config.access import NO_ACCESS, Access
from core.config.knobs import Knobs

IDLE = 3600.0
"""Seconds without a request after which a session ends."""

KEPT = 1000
"""Sessions at the same time; the one that has been idle longest makes room."""

DEFAULTS = Knobs()

HEADER = "X-OpenQuery-Session"


TURNS_KEPT = 200


class Method(StrEnum):
    """A way to ask, which may have a configuration of its own."""

    QA = "qa"
    QUERY = "query"
    RESEARCH = "research"
    CHAT = "chat"


class Turn(BaseModel):
    """A question or an answer."""

    role: Literal["user", "assistant"]
    content: str
    run: str
    """The id of the run."""
    at: datetime


@dataclass(slots=True)
class Session:
    """`knobs` hold for every method that has none of its own. They are replaced, never changed."""

    access: Access = NO_ACCESS
    knobs: Knobs = DEFAULTS
    used: float = 0.0
    model: str = ""
    """Who writes."""
    remembers: bool = True
    """Whether it is one caller's, whose messages are kept."""
    methods: dict[Method, Knobs] = field(default_factory=dict)
    messages: deque[Turn] = field(default_factory=lambda: deque(maxlen=TURNS_KEPT))

    def end(self) -> None:
        """Forget the documents too, which a run may still hold."""
        if self.access.files:
            self.access.files.clear()

    def knobs_for(self, method: Method) -> Knobs:
        return self.methods.get(method, self.knobs)

    def say(self, role: Literal["user", "assistant"], content: str, run: str) -> None:
        if self.remembers:
            self.messages.append(Turn(role=role, content=content, run=run, at=datetime.now(UTC)))


class Sessions:
    """Sessions by their token, which cannot be guessed. To be used from one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def open(self, access: Access, knobs: Knobs, model: str = "") -> str:
        token = secrets.token_urlsafe(32)
        self._sessions[token] = Session(access, knobs, self._clock(), model)
        while len(self._sessions) > KEPT:
            self._sessions.popitem(last=False)[1].end()
        return token

    def get(self, token: str) -> Session | None:
        """The session, which is thereby used; None when there is none, or it was idle too long."""
        now = self._clock()
        for idle in [name for name, session in self._sessions.items() if now - session.used > IDLE]:
            self.close(idle)
        session = self._sessions.get(token)
        if session is not None:
            session.used = now
            self._sessions.move_to_end(token)
        return session

    def close(self, token: str) -> None:
        if session := self._sessions.pop(token, None):
            session.end()
