"""Run statuses, and state transitions shared by several events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from core.model import CitationCheck, Index, Phase
from core.run.events import Embedded, Indexed, ModelUsed, RunStarted
from core.run.growing import Growing, with_items
from core.run.reports.plan_events import SectionLeftOut, SectionStarted, SectionWritten
from core.run.reports.sections import folded_sections, heading, report

if TYPE_CHECKING:
    from core.run.state import Run


class RunStatus(StrEnum):
    """The progress or outcome of a run."""

    QUEUED = "queued"  # waits for a free slot
    RUNNING = "running"
    PLANNED = "planned"  # a deep run: its plan waits for approval
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """The process ended before the run did."""


_RANKING_PHASES = frozenset({Phase.CHUNK, Phase.EMBED, Phase.RANK})
_RANKING_FIELDS = (
    *("knobs", "passages", "live_cosine", "vectors_reused", "vectors_computed"),
    *("embed_faults", "index", "ranking"),
)
_ANSWER_FIELDS = ("sources", "embedded_for_answer", "prompt", "text", "answer", "check", "earlier_answers")


def without_results_of(run: Run, phase: Phase) -> Run:
    """Return the run without results of an earlier pass.

    `phase` chooses the results. Pages stay, because they are only added to.
    """
    match phase:
        case Phase.CHUNK:
            return replace(run, passages=())
        case Phase.EMBED:
            none: Mapping[str, float] = Growing() if isinstance(run.live_cosine, Growing) else {}
            return replace(run, live_cosine=none, vectors_reused=0, vectors_computed=0, embed_faults=())
        case Phase.ANSWER:
            text = f"{report(run.sections)}\n\n{heading(run.part)}".lstrip() if run.part else ""
            return replace(run, prompt=(), text=text, answer=None, check=CitationCheck())
        case _:
            return run


def with_ranking_of(run: Run, other: Run) -> Run:
    """Return the run with the ranking of `other`.

    The passages, knobs and phase spans behind the ranking are taken too.
    """
    spans = {p: s for p, s in run.timeline.phases.items() if p not in _RANKING_PHASES}
    spans |= {p: s for p, s in other.timeline.phases.items() if p in _RANKING_PHASES}
    return replace(_with_fields_of(run, other, _RANKING_FIELDS), timeline=replace(run.timeline, phases=spans))


def with_answer_of(run: Run, other: Run) -> Run:
    """Return the run with the answers of `other`."""
    return _with_fields_of(run, other, _ANSWER_FIELDS)


def ended_early(run: Run, status: RunStatus) -> Run:
    """Return the run after work that was cut short.

    A follow-up without a new ranking restores the earlier passages and ranking. If it has written nothing, it restores
    the earlier answer. A stopped follow-up that changes neither restores the earlier status too.
    """
    before, run = run.before, replace(run, status=status, before=None)
    if before is None:
        return run
    unranked = run.ranking is None or run.ranking is before.ranking
    if unranked:
        run = with_ranking_of(run, before)
    if run.answer is None and not run.text:
        run = with_answer_of(run, before)
    unchanged = unranked and run.answer is before.answer and run.text == before.text
    if status is RunStatus.STOPPED and unchanged and not before.live:
        run = replace(run, status=before.status, error=before.error)
    return run


def with_section(run: Run, event: SectionStarted | SectionWritten | SectionLeftOut, seconds: float) -> Run:
    """Return the run after an event of a report section. Its text is the report of the current sections."""
    sections = folded_sections(run.sections, event, seconds)
    if isinstance(event, SectionStarted):
        return replace(run, sections=sections, part=sections[event.number - 1].question)
    return replace(run, sections=sections, text=report(sections))


_MOST_BYTES = 500_000_000
"""The most bytes of an index's vectors, far above any real run."""


def index_event(index: Index) -> Indexed:
    """Return the event for an index and its vectors. `whole_index` restores the index from it."""
    import numpy as np

    waiting = index.waiting
    if index.vectors is None or not len(waiting):
        return Indexed(index)
    rows = np.setdiff1d(np.arange(len(index.passages)), waiting)
    return Indexed(replace(index, vectors=index.vectors[rows]), rows)


def whole_index(event: Indexed) -> Index:
    """Return the index of the event, with NaN rows for waiting passages.

    Raises:
        ValueError: when its parts do not fit together.
    """
    import numpy as np

    index, rows = event.index, event.rows
    if rows is None or index.vectors is None or index.question is None:
        return index
    shape = len(index.passages), *index.question.shape
    if 4 * np.prod(shape, dtype=np.float64) > _MOST_BYTES:
        raise ValueError("No run has so many vectors.")
    empty = replace(index, vectors=np.full(shape, np.nan, dtype=np.float32))
    return empty.with_vectors(rows, index.vectors)


def with_batch(run: Run, batch: Embedded) -> Run:
    """Return the run after a batch of embeddings. Raises the errors of `Index.with_vectors`."""
    if run.index is not None and batch.rows is not None and batch.vectors is not None:
        run = replace(run, index=run.index.with_vectors(batch.rows, batch.vectors))
    return replace(
        run,
        live_cosine=with_items(run.live_cosine, dict(zip(batch.passages, batch.cosine, strict=True))),
        vectors_reused=run.vectors_reused + batch.reused,
        vectors_computed=run.vectors_computed + len(batch.passages) - batch.reused,
    )


UsageKey = tuple[Phase, str, bool, bool]


def add_usage(sums: dict[UsageKey, ModelUsed], used: ModelUsed) -> None:
    """Add a call to the sum of its phase and model. Calls whose provider states a cost have a separate sum."""
    usage = used.usage
    key = (used.phase, usage.model, usage.local, usage.tokens.cost is None)
    sums[key] = replace(used, usage=sums[key].usage + usage) if key in sums else used


def usage_of(start: RunStarted) -> tuple[ModelUsed, ...]:
    """Return model usage from before the run began, counted as planning."""
    used = (*(start.turn.usage if start.turn else ()), *(start.client.usage if start.client else ()))
    return tuple(ModelUsed(Phase.PLAN, usage) for usage in used)


def _with_fields_of(run: Run, other: Run, names: tuple[str, ...]) -> Run:
    return replace(run, **{name: getattr(other, name) for name in names})
