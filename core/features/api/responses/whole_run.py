"""Bodies of a whole run and of a conversation, as the OpenAPI document describes them."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from core.run.state import RunStatus

Parts = list[dict[str, Any]]


class WholeRun(BaseModel):
    """A run in the format of the history's exports. Fields that are not named here are results of its stages."""

    model_config = ConfigDict(extra="allow")

    format: Literal["openquery-run"]
    version: int
    id: str
    question: str
    knobs: dict[str, Any]
    started: str
    status: RunStatus
    seconds: float
    queries: Parts
    replies: Parts
    search_faults: Parts
    hits: Parts
    pages: Parts
    skips: Parts
    index: dict[str, Any] | None
    """The passages, without their vectors."""
    ranking: dict[str, Any] | None
    sources: Parts
    text: str
    """The answer so far."""
    answer: dict[str, Any] | None
    notices: Parts
    error: dict[str, Any] | None


class ConversationTurn(BaseModel):
    """A question of a conversation, with its answer."""

    run: str
    asked: str
    written: str
    question: str
    answer_from: str | None
    coverage: float | None
    answer: str
    cited: list[int]
    sources: list[int]
    notes: list[str]


class ConversationSource(BaseModel):
    """A source of a conversation."""

    number: int
    title: str
    url: str
    text: str


class Conversation(BaseModel):
    """The questions and answers of a conversation, with one list of sources."""

    format: str
    conversation: str
    turns: list[ConversationTurn]
    sources: list[ConversationSource]
