"""Conversations: exchanges, the position of a question, and the requests of chat clients."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from core.model.usage import ModelUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A question and its answer. The answer may quote pages, so its text is untrusted. It may be empty."""

    question: str
    answer: str
    origins: frozenset[str] = frozenset()
    """The origins of texts that the answer may quote, see `Run.origins`."""


class AnswerFrom(StrEnum):
    """The pages that may answer a follow-up question."""

    PAGES = "pages"
    """Pages that earlier questions of the conversation have read. Nothing is searched or fetched."""
    SEARCH = "search"
    """New pages alone."""
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The position of a follow-up run in its conversation.

    The run's question is the standalone question, which was derived from `written`. The first question of a
    conversation has no turn.
    """

    conversation: str
    """The id of the first run, or "" for this run after questions that were asked elsewhere."""
    follows: str
    """The id of the previous run, or "" if the previous question was asked elsewhere."""
    number: int
    """The first question is number 1."""
    written: str
    """The question as the person wrote it."""
    answer_from: AnswerFrom
    author: str = ""
    """The identity of the model that rewrote the question, or ""."""
    coverage: float | None = None
    """The share of the question that known pages cover, from 0 to 1, or None if unmeasured."""
    history: tuple[Exchange, ...] = ()
    """Earlier exchanges for the answering model, oldest first."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """The source numbers of earlier turns, by passage id. A passage keeps its number."""
    notes: tuple[str, ...] = ()
    """Notes for a person on rewriting the question and measuring its coverage."""
    seconds: float = 0.0
    """Seconds of rewriting the question, or 0 in runs of earlier versions."""
    usage: tuple[ModelUsage, ...] = ()
    """Usage of the rewriting and measuring models, which counts in the run."""


class ClientTaskKind(StrEnum):
    """Kinds of tasks that chat clients set, besides the person's questions."""

    TITLE = "title"
    TAGS = "tags"
    FOLLOW_UPS = "follow_ups"
    """Questions that the person may ask next."""
    QUERIES = "queries"
    """Search queries for the client's own search."""
    QUESTION = "question"
    """The last question, rewritten as a standalone question."""
    COMPLETION = "completion"
    """The rest of a text that the person is typing."""
    SUMMARY = "summary"
    OTHER = "other"
    """Any other task, such as an emoji or a prompt for an image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """The request of a chat client from which a run was started."""

    instructions: str = ""
    """System and developer messages: the words of the client's operator."""
    message: str = ""
    """The person's whole message, or "" if the question is all of it."""
    task: ClientTaskKind | None = None
    """The task that `message` sets, or None if a person asks."""
    history: tuple[Exchange, ...] = ()
    """Earlier messages that a task is about."""
    reply: str | None = None
    """The reply to a task without a chat model, or None."""
    origins: frozenset[str] = frozenset()
    """Origins of the texts that a task may quote, see `Run.origins`."""
    notes: tuple[str, ...] = ()
    """Notes for a person on how the request was read."""
    usage: tuple[ModelUsage, ...] = ()
    """Tokens of the model that wrote the question, which count in the run."""


NO_CLIENT = ClientRequest()
"""The request of a question that no chat client sent."""
