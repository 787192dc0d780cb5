"""The steps of an agent: the events that they are made of, and the steps of a run folded from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.model import ToolCall


@dataclass(frozen=True, slots=True)
class ModelDecided:
    """The chat model of an agent has replied: the tools that it calls next, none when it has enough to answer from."""

    text: str
    """What it wrote beside the calls. It is shown as its reason, and is no answer."""
    calls: tuple[ToolCall, ...]
    tokens: int
    """What the reply took, read and written."""


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A call of a tool begins: the next one of the latest decision."""

    number: int
    """From 1, in the run."""
    tool: str
    arguments: str
    """As the model wrote them: meant to be a JSON object."""


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A call of a tool has ended; `result` is what the model is told."""

    number: int
    result: str
    """Untrusted text, without what could end the tags around it."""
    boundary: str
    """The random string of these tags."""
    size: int = 0
    """How many hits or passages are in the result."""
    error: bool = False
    """The tool was refused or failed; `result` says why."""


StepEvent = ModelDecided | StepStarted | StepEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of a tool by an agent. `end` is None while it is under way, in seconds since the run began as `start`."""

    number: int
    tool: str
    arguments: str
    start: float
    end: float | None = None
    reason: str = ""
    """What the model wrote when it called the tool."""
    tokens: int = 0
    """Of the decision for it; where several calls were decided together, the first one has them."""
    result: str = ""
    boundary: str = ""
    size: int = 0
    error: bool = False


def folded_steps(
    steps: tuple[Step, ...],
    decisions: tuple[ModelDecided, ...],
    event: StepStarted | StepEnded,
    seconds: float,
) -> tuple[Step, ...]:
    """The steps after an event of one, at `seconds` of the run's clock. A step that begins again replaces itself."""
    if isinstance(event, StepStarted):
        latest = decisions[-1] if decisions else ModelDecided("", (), 0)
        is_first = event.number == sum(len(decision.calls) for decision in decisions[:-1]) + 1
        step = Step(
            number=event.number,
            tool=event.tool,
            arguments=event.arguments,
            start=seconds,
            reason=latest.text,
            tokens=latest.tokens if is_first else 0,
        )
        return (*(earlier for earlier in steps if earlier.number < step.number), step)
    return tuple(
        replace(
            step,
            end=seconds,
            result=event.result,
            boundary=event.boundary,
            size=event.size,
            error=event.error,
        )
        if step.number == event.number
        else step
        for step in steps
    )
