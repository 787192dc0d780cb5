"""Conversations: exchanges, and the place of a question in one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from core.model.usage import ModelUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A question and its answer. The answer may quote pages, so its text is untrusted; it may be empty."""

    question: str
    answer: str
    origins: frozenset[str] = frozenset()
    """Where the texts come from that the answer may quote, as `Run.origins`."""


class AnswerFrom(StrEnum):
    """What a follow-up question is answered from."""

    PAGES = "pages"
    """The pages in hand: those that earlier questions of the conversation have read. Nothing is searched or fetched."""
    SEARCH = "search"
    """New pages alone."""
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What makes a run a follow-up: the run before it, and what it takes over from the conversation.

    The run's question is the standalone question, which was derived from `written`. The first question of a
    conversation has no turn.
    """

    conversation: str
    """The id of the run with the first question; empty: this run, which follows questions that were asked elsewhere."""
    follows: str
    """The id of the run before it; empty: the question before it was asked elsewhere."""
    number: int
    """The first question is number 1."""
    written: str
    """The question as the person wrote it."""
    answer_from: AnswerFrom
    author: str = ""
    """The identity of the model that rewrote it; empty: no model did."""
    coverage: float | None = None
    """How far the pages in hand cover the question, from 0 to 1; None where that was not measured."""
    history: tuple[Exchange, ...] = ()
    """Exchanges before it that are given to the model that answers, oldest first."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """The source numbers of the conversation so far, by passage id. A passage keeps its number."""
    notes: tuple[str, ...] = ()
    """What a person should know of how the question was rewritten and its coverage measured."""
    seconds: float = 0.0
    """What rewriting it took; 0 in runs of earlier versions."""
    usage: tuple[ModelUsage, ...] = ()
    """What the models took that did so, which counts in the run."""
