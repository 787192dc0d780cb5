"""Two answers in figures, one under the other, with what lies between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.analysis.answers.answer_comparison import Difference
from core.model import Phase
from core.run.state import Run


class Unit(StrEnum):
    COUNT = "count"
    SECONDS = "seconds"
    DOLLARS = "dollars"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One thing that was counted of both; None where it is not told."""

    label: str
    unit: Unit
    before: float | None
    after: float | None
    hint: str = ""

    @property
    def difference(self) -> float | None:
        return None if self.before is None or self.after is None else self.after - self.before


def figures(
    found: Difference, before_seconds: float | None = None, after_seconds: float | None = None
) -> tuple[Figure, ...]:
    """Everything that is told of at least one of the two answers."""
    one, two = found.before, found.after
    estimated = "Estimated from the sources: four characters a token"
    reported = "As the provider reports it"
    told = (
        Figure(label="words", unit=Unit.COUNT, before=one.words, after=two.words),
        Figure(label="sentences", unit=Unit.COUNT, before=one.sentences, after=two.sentences),
        Figure(label="of them cited", unit=Unit.COUNT, before=one.cited, after=two.cited),
        Figure(label="sources used", unit=Unit.COUNT, before=one.used, after=two.used),
        Figure(
            label="context tokens",
            unit=Unit.COUNT,
            before=one.context_tokens,
            after=two.context_tokens,
            hint=estimated,
        ),
        Figure(
            label="prompt tokens",
            unit=Unit.COUNT,
            before=one.prompt_tokens,
            after=two.prompt_tokens,
            hint=reported,
        ),
        Figure(
            label="answer tokens",
            unit=Unit.COUNT,
            before=one.completion_tokens,
            after=two.completion_tokens,
            hint=reported,
        ),
        Figure(label="cost", unit=Unit.DOLLARS, before=one.cost, after=two.cost, hint=reported),
        Figure(
            label="time",
            unit=Unit.SECONDS,
            before=before_seconds,
            after=after_seconds,
            hint="From asking the model to its last word",
        ),
    )
    return tuple(one for one in told if one.before is not None or one.after is not None)


def marks(found: Difference) -> tuple[dict[int, str], dict[int, str]]:
    """What is said of a source in either answer, by its number: gone or new, or its number in the other."""
    moved = {first: second for first, second in found.same.items() if first != second}
    return (
        {**{first: f"now {second}" for first, second in moved.items()}, **dict.fromkeys(found.gone, "gone")},
        {**{second: f"was {first}" for first, second in moved.items()}, **dict.fromkeys(found.new, "new")},
    )


def answering_seconds(run: Run) -> float | None:
    """How long the run's latest answer took; None when there was none."""
    span = run.timeline.phases.get(Phase.ANSWER)
    return span.seconds(run.seconds) if span and run.answer else None
