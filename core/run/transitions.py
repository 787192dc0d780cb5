"""Steps from one state of a run to the next that several events share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.model import CitationCheck, Phase, Turn
from core.run.events import ModelUsed

if TYPE_CHECKING:
    from core.run.state import Run

_RANKING_PHASES = frozenset({Phase.CHUNK, Phase.EMBED, Phase.RANK})
_RANKING_FIELDS = (
    *("knobs", "passages", "live_cosine", "vectors_reused", "vectors_computed"),
    *("embed_faults", "index", "ranking"),
)
_ANSWER_FIELDS = ("sources", "prompt", "text", "answer", "check", "earlier_answers")


def without_results_of(run: Run, phase: Phase) -> Run:
    """The run without what an earlier pass of this phase produced. Pages stay: they are only added to."""
    match phase:
        case Phase.CHUNK:
            return replace(run, passages=())
        case Phase.EMBED:
            return replace(run, live_cosine={}, vectors_reused=0, vectors_computed=0, embed_faults=())
        case Phase.ANSWER:
            return replace(run, prompt=(), text="", answer=None, check=CitationCheck())
        case _:
            return run


def with_ranking_of(run: Run, other: Run) -> Run:
    """The run with the passages, the ranking and the knobs of another state of it, and the spans of their phases."""
    spans = {p: s for p, s in run.timeline.phases.items() if p not in _RANKING_PHASES}
    spans |= {p: s for p, s in other.timeline.phases.items() if p in _RANKING_PHASES}
    return replace(_with_fields_of(run, other, _RANKING_FIELDS), timeline=replace(run.timeline, phases=spans))


def with_answer_of(run: Run, other: Run) -> Run:
    """The run with the answers of another state of it."""
    return _with_fields_of(run, other, _ANSWER_FIELDS)


def summed_usage(totals: tuple[ModelUsed, ...], used: ModelUsed) -> tuple[ModelUsed, ...]:
    """`totals` with a further call, added to the sum of its phase and model; costs that providers state stay apart."""
    sums: dict[tuple[object, ...], ModelUsed] = {}
    for call in (*totals, used):
        key = (call.phase, call.usage.model, call.usage.local, call.usage.tokens.cost is None)
        sums[key] = replace(call, usage=sums[key].usage + call.usage) if key in sums else call
    return tuple(sums.values())


def usage_of(turn: Turn | None) -> tuple[ModelUsed, ...]:
    """What models took for a follow-up before its run began, which counts as planning it."""
    return tuple(ModelUsed(Phase.PLAN, usage) for usage in turn.usage) if turn else ()


def _with_fields_of(run: Run, other: Run, names: tuple[str, ...]) -> Run:
    return replace(run, **{name: getattr(other, name) for name in names})
