"""The calls of a run's chat model, folded from its events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.model import Author, Phase, Usage
from core.run import events as e
from core.run.reports import plan_events as p
from core.run.step_events import ModelDecided

if TYPE_CHECKING:
    from core.run.state import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request to a chat model. Times are seconds since the start of the run."""

    phase: Phase
    model: str
    purpose: e.Purpose
    start: float
    end: float | None = None
    """When the reply ended, or None if it has not ended or the request was refused."""
    tokens: Usage | None = None
    estimated: bool = False
    """Whether the tokens are an estimate, because the server did not count them."""
    part: str = ""
    """The report section that the call was for, or ""."""
    text: str = ""
    """The text of the reply: queries or sub-questions by line, the reason of a decision, or the answer."""
    reasoning: str = ""
    """The reasoning of the reply, or ""."""
    written_from: int = 0
    """The offset of its answer in the text of the run."""
    decision: int | None = None
    """The index of the agent's decision in the run, or None."""


_NEAR = 8
"""The number of latest calls to search for an event's call. Few calls run at once."""


def folded_calls(run: Run, record: e.Record) -> tuple[ModelCall, ...]:
    """Return the calls after an event of a run. `run` is the state before it."""
    match record.event:
        case e.ModelAsked(phase=phase, model=model, purpose=purpose):
            call = ModelCall(
                phase=phase,
                model=model,
                purpose=purpose,
                start=record.at,
                part=run.part,
                written_from=len(run.text),
            )
            return (*_with_answer(run), call)
        case e.ModelUsed(phase=phase, usage=usage):
            return _changed(
                run.calls,
                lambda call: call.phase is phase and call.model == usage.model and call.end is None,
                lambda call: replace(call, end=record.at, tokens=usage.tokens, estimated=usage.estimated),
            )
        case e.ModelThought(phase=phase, text=text):
            return _changed(
                run.calls,
                lambda call: call.phase is phase and call.end is None,
                lambda call: replace(call, reasoning=call.reasoning + text),
            )
        case e.QueryPlanned(query=query) if query.author is Author.MODEL:
            return _changed(
                run.calls,
                lambda call: call.purpose is e.Purpose.PLAN,
                lambda call: replace(call, text=f"{call.text}\n{query.text}".lstrip()),
            )
        case p.PlanProposed(sub_questions=questions, author=author) if author:
            return _changed(
                run.calls,
                lambda call: call.purpose is e.Purpose.PLAN,
                lambda call: replace(call, text="\n".join(questions)),
            )
        case ModelDecided(text=text):
            number = len(run.decisions)
            return _changed(
                run.calls,
                lambda call: call.purpose is e.Purpose.DECIDE and call.end is not None,
                lambda call: replace(call, text=text, decision=number),
            )
        case e.PhaseStarted(phase=Phase.ANSWER) | e.Answered() | p.SectionWritten() | p.SectionLeftOut():
            return _with_answer(run)
        case e.Note(phase=Phase.ANSWER):  # the next answer replaces this draft
            return _with_answer(run)
        case _:
            return run.calls


def _with_answer(run: Run) -> tuple[ModelCall, ...]:
    """Add the written text to the latest answer call."""
    return _changed(
        run.calls,
        lambda call: call.purpose is e.Purpose.ANSWER and not call.text and call is run.calls[-1],
        lambda call: replace(call, text=run.text[call.written_from :]),
    )


def _changed(
    calls: tuple[ModelCall, ...],
    is_meant: Callable[[ModelCall], bool],
    change: Callable[[ModelCall], ModelCall],
) -> tuple[ModelCall, ...]:
    """Change the latest call that `is_meant` accepts among the last few."""
    for place in range(len(calls) - 1, max(len(calls) - 1 - _NEAR, -1), -1):
        if is_meant(calls[place]):
            return (*calls[:place], change(calls[place]), *calls[place + 1 :])
    return calls
