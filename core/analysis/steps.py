"""The steps of an agent in words: what each tool was called with, what came of it, and what it took."""

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from core.run.state import Run
from core.run.step_events import Step
from core.text.sanitize import one_line, pluralize

UNDER_WAY = "under way"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A step of a run for a person. The texts come from a model and from strangers' pages."""

    number: int
    tool: str
    argument: str
    """What the tool was called with, on one line and without its form."""
    outcome: str
    """The size of the result, such as "10 hits"; `failed` where the tool was refused or failed."""
    seconds: float
    """Until the latest event of the run while it is under way."""
    tokens: int
    """Of the model's decision for it; 0 where an earlier step of the same decision has them."""
    ended: bool
    error: bool
    reason: str
    """What the model wrote when it called the tool."""
    arguments: str
    """As the model wrote them."""
    result: str
    """What the model was told; empty while it is under way."""

    def __str__(self) -> str:
        return f"Step {self.number}: {self.tool} {self.argument}: {self.outcome}"


def step_rows(run: Run) -> Iterator[StepRow]:
    """The steps of a run in their order."""
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
    """The values of a JSON object, an address without its usual scheme; anything else as it is."""
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
