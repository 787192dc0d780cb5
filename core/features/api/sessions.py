"""Sessions of the HTTP service: a caller's servers, keys, configuration, files and messages, in memory only."""

import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from cachetools import LRUCache, TTLCache
from pydantic import BaseModel

from core.config.access import NO_ACCESS, Access
from core.config.knobs import Knobs
from core.features.api.strict_json import with_knobs
from core.model import Answer, Exchange

IDLE_SECONDS = 3600.0
"""A session without requests for this long is ended."""

SESSIONS = 1000
"""Sessions at the same time. The least recently used one is ended for a new one."""

DEFAULTS = Knobs()

HEADER = "X-OpenQuery-Session"

MESSAGES = 200
"""Messages in the history of a session; the oldest are dropped."""


REPLIES = 1000
"""The most known conversations of chat clients in a session. The least recently used are dropped."""

ANSWERS = 200
"""Recent answers in a session; the least recently used are dropped."""


class Endpoint(StrEnum):
    """An endpoint that answers questions, and may have its own configuration."""

    QA = "qa"
    QUERY = "query"
    RESEARCH = "research"
    CHAT = "chat"


QA_ANSWER_TOKENS = 1000
"""The most tokens of an answer at `POST /qa`."""

METHOD_DEFAULTS: Mapping[Endpoint, Mapping[str, Mapping[str, Any]]] = {
    Endpoint.QA: {
        "plan": {"queries": 1},
        "rank": {"strategy": "cosine", "top_k": 5},
        "answer": {"prompt_layout": "three", "max_tokens": QA_ANSWER_TOKENS},
    },
    Endpoint.QUERY: {
        "plan": {"queries": 1},
        "rank": {"strategy": "cosine", "top_k": 5, "min_similarity": 0.5, "min_characters": 10},
    },
}
"""Knobs that a method's contract sets, by group."""


def method_knobs(knobs: Knobs, method: Endpoint | None) -> Knobs:
    """Return the knobs with the values of the method's contract in place of defaults."""
    chosen, usual = knobs.to_json(), DEFAULTS.to_json()
    contract = METHOD_DEFAULTS.get(method, {}) if method else {}
    return with_knobs(
        knobs,
        {
            group: {
                name: value for name, value in values.items() if chosen[group][name] == usual[group][name]
            }
            for group, values in contract.items()
        },
    )


class ChatMessage(BaseModel):
    """A message by its role. The roles are those of OpenAI's API."""

    role: Literal["system", "assistant", "user", "function", "tool", "developer"]
    content: str


class ChatTurn(ChatMessage):
    """A question or an answer of a session."""

    run: str
    """The id of the run."""
    at: datetime


class RunExchange(NamedTuple):
    """A question with its answer, and the id of the run that gave it."""

    exchange: Exchange
    run: str


@dataclass(slots=True)
class Session:
    """One caller's session. `knobs` apply to every method without an entry in `methods`, in place of its defaults."""

    access: Access = NO_ACCESS
    knobs: Knobs = DEFAULTS
    model: str = ""
    """The chat model that answers."""
    owner: str = ""
    """Who opened it, as `Caller.name`."""
    keeps_messages: bool = True
    """Whether messages are kept. False for the session that callers without a session share."""
    methods: dict[Endpoint, Knobs] = field(default_factory=dict)
    messages: deque[ChatTurn] = field(default_factory=lambda: deque(maxlen=MESSAGES))
    history: deque[RunExchange] = field(default_factory=lambda: deque(maxlen=MESSAGES // 2))
    """The answered questions of `messages`: the history of later ones."""
    replies: MutableMapping[str, RunExchange] = field(default_factory=lambda: LRUCache(REPLIES))
    """The latest exchange of conversations whose messages the client keeps, by the digest of the conversation."""
    answers: MutableMapping[str, Answer] | None = None
    """Recent answers of chat models to questions of this session, which no other session sees."""

    def recent_answers(self, seconds: float) -> MutableMapping[str, Answer] | None:
        """Return the reusable answers of the last `seconds`, or None for 0."""
        if self.answers is None and seconds:
            self.answers = TTLCache(ANSWERS, seconds)
        return self.answers

    def end(self) -> None:
        """Delete the session's answers, and its documents, to which a run may still refer."""
        self.answers = None
        if self.access.files:
            self.access.files.clear()

    def knobs_for(self, method: Endpoint) -> Knobs:
        """The knobs that a method uses in this session.

        A knob set to its default value for all methods keeps each method's own default.
        """
        return self.methods.get(method) or method_knobs(self.knobs, method)

    def add_message(self, role: Literal["user", "assistant"], content: str, run: str) -> None:
        """Append a message to the history."""
        if self.keeps_messages:
            self.messages.append(ChatTurn(role=role, content=content, run=run, at=datetime.now(UTC)))

    def add_exchange(self, exchange: RunExchange) -> None:
        """Append an answered question to the history of later ones."""
        if self.keeps_messages:
            self.history.append(exchange)


class Sessions(TTLCache[str, Session]):
    """Sessions by their token, which cannot be guessed. To be used from one event loop.

    A session is ended when it is closed, idle for `IDLE_SECONDS`, or evicted.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(SESSIONS, IDLE_SECONDS, clock)

    def open(self, access: Access, knobs: Knobs, model: str = "", owner: str = "") -> str:
        """Open a session, and return its token."""
        token = secrets.token_urlsafe(32)
        self[token] = Session(access, knobs, model, owner)
        return token

    def use(self, token: str) -> Session | None:
        """Return the session, and restart its idle time. An unknown or expired session is None."""
        self.expire()
        if (session := self.get(token)) is not None:
            self[token] = session
        return session

    def close(self, token: str) -> None:
        """End the session if it exists."""
        if session := self.pop(token, None):
            session.end()

    def expire(self, time: float | None = None) -> list[tuple[str, Session]]:
        """Remove and end the sessions that were idle too long."""
        expired = list(super().expire(time))
        for _, session in expired:
            session.end()
        return expired

    def popitem(self) -> tuple[str, Session]:
        """Remove and end the least recently used session."""
        token, session = super().popitem()
        session.end()
        return token, session
