"""The events of a deep run: its plan, and the sections of its report."""

from __future__ import annotations

from dataclasses import dataclass

from core.model import Answer, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What researching one sub-question takes, by an estimate."""

    tokens: int
    """Of the chat model."""
    seconds: float
    dollars: float | None = None
    """None where the price of the model is unknown."""
    runs: int = 0
    """The earlier runs that it goes by; 0: it follows from the knobs alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProposed:
    """The first part of a deep run has ended: these sub-questions wait for approval. Nothing is searched before that."""

    sub_questions: tuple[str, ...]
    estimate: Estimate
    """Of each of them."""
    author: str = ""
    """The identity of the model that wrote them; empty: the question itself is the plan."""


@dataclass(frozen=True, slots=True)
class PlanApproved:
    """A person has approved these sub-questions, in this order. Their research begins."""

    sub_questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SectionStarted:
    """The research of a section begins, the first one's or once more. `number` is from 1."""

    number: int


@dataclass(frozen=True, slots=True)
class SectionWritten:
    """A section is answered."""

    number: int
    answer: Answer
    sources: tuple[Source, ...]
    """What it was written from, with the numbers that they have in the whole report."""
    tokens: int
    """What chat models read and wrote for it."""


@dataclass(frozen=True, slots=True)
class SectionLeftOut:
    """A section could not be researched, and the run goes on without it."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class BriefStarted:
    """No further section is researched. The answer in brief is begun."""


PlanEvent = PlanProposed | PlanApproved | SectionStarted | SectionWritten | SectionLeftOut | BriefStarted
