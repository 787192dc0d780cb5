"""The steps of an agent for display: the tool's arguments, outcome and cost."""

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from core.run.state import Run
from core.run.step_events import Step
from core.text.sanitize import one_line, pluralize

UNDER_WAY = "under way"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A step of a run for a person. The texts come from a model and from untrusted pages."""

    number: int
    tool: str
    argument: str
    """The values of the tool's arguments, on one line."""
    outcome: str
    """The size of the result, such as "10 hits", or `failed`."""
    seconds: float
    """Seconds, up to the latest event of the run for a running step."""
    tokens: int
    """Tokens of the model's decision, or 0 if an earlier step of the decision has them."""
    ended: bool
    error: bool
    reason: str
    """The model's text with the tool call."""
    arguments: str
    """The arguments as written by the model."""
    result: str
    """The result for the model, or "" before its end."""

    def __str__(self) -> str:
        return f"Step {self.number}: {self.tool} {self.argument}: {self.outcome}"


def step_rows(run: Run) -> Iterator[StepRow]:
    """Yield the steps of a run in order."""
    for step in run.steps:
        yield StepRow(
            number=step.number,
            tool=one_line(step.tool, 64),
            argument=_argument(step.arguments),
            outcome=_outcome(step),
            seconds=(run.seconds if step.end is None else step.end) - step.start,
            tokens=step.tokens,
            ended=step.end is not None,
            error=step.error,
            reason=step.reason.strip(),
            arguments=step.arguments,
            result=step.result,
        )


def _argument(arguments: str) -> str:
    """Return the values of a JSON object on one line, or any other text unchanged.

    An address loses its usual scheme.
    """
    try:
        values = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        values = arguments
    text = ", ".join(map(str, values.values())) if isinstance(values, dict) else str(values)
    return one_line(text.removeprefix("https://"), 120)


def _outcome(step: Step) -> str:
    if step.end is None:
        return UNDER_WAY
    if step.error:
        return "failed"
    return pluralize(step.size, "hit" if step.tool == "search" else "passage")
