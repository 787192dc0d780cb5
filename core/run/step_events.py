"""The steps of an agent and the events that form them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.model import ToolCall


@dataclass(frozen=True, slots=True)
class ModelDecided:
    """The chat model of an agent has replied with its next tool calls. No call means that it can answer."""

    text: str
    """The text of the reply. It is shown as the reason, and is not an answer."""
    calls: tuple[ToolCall, ...]
    tokens: int
    """Tokens of the reply, read and written."""


@dataclass(frozen=True, slots=True)
class StepStarted:
    """The next tool call of the latest decision begins."""

    number: int
    """The step number in the run, from 1."""
    tool: str
    arguments: str
    """The arguments as the model wrote them, normally a JSON object."""


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A tool call has ended. The model receives `result`."""

    number: int
    result: str
    """Untrusted text, without strings that could close its tags."""
    boundary: str
    """The random string of these tags."""
    size: int = 0
    """The number of hits or passages in the result."""
    error: bool = False
    """Whether the tool was refused or failed. `result` gives the reason."""


StepEvent = ModelDecided | StepStarted | StepEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One tool call by an agent.

    `start` and `end` are seconds since the run began. `end` is None until the call ends.
    """

    number: int
    tool: str
    arguments: str
    start: float
    end: float | None = None
    reason: str = ""
    """The text of the model with the tool call."""
    tokens: int = 0
    """Tokens of the decision. If it has several calls, the first step has them."""
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
    """Return the steps after a step event. `seconds` is its time in the run. A restarted step replaces itself."""
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
