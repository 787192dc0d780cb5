"""The events of a deep run: its plan and report sections."""

from __future__ import annotations

from dataclasses import dataclass

from core.model import Answer, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The estimated cost of researching one sub-question."""

    tokens: int
    """Tokens of the chat model."""
    seconds: float
    dollars: float | None = None
    """The price, or None if the model's price is unknown."""
    runs: int = 0
    """The number of earlier runs behind the estimate. With 0, it follows from the knobs alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProposed:
    """A plan of sub-questions waits for approval. Nothing is searched before approval."""

    sub_questions: tuple[str, ...]
    estimate: Estimate
    """The estimate for each sub-question."""
    author: str = ""
    """The identity of the planning model. Empty if the plan is the question itself."""


@dataclass(frozen=True, slots=True)
class PlanApproved:
    """A person has approved these sub-questions in this order. Their research begins."""

    sub_questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SectionStarted:
    """The research of a section begins or restarts. `number` is from 1."""

    number: int


@dataclass(frozen=True, slots=True)
class SectionWritten:
    """A section is answered."""

    number: int
    answer: Answer
    sources: tuple[Source, ...]
    """The sources of the section, numbered as in the whole report."""
    tokens: int
    """Tokens that chat models read and wrote for the section."""


@dataclass(frozen=True, slots=True)
class SectionLeftOut:
    """A section could not be researched, and the run continues without it."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class BriefStarted:
    """The brief answer begins, and no further section is researched."""


PlanEvent = PlanProposed | PlanApproved | SectionStarted | SectionWritten | SectionLeftOut | BriefStarted
