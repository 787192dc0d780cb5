"""State transitions of a run, and the calls of its chat model, folded from its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from core.model import Author, CitationCheck, Index, Phase
from core.run import events as e
from core.run.growing import Growing, with_items
from core.run.hit_merging import merge_hits
from core.run.reports import plan_events as p
from core.run.reports.sections import folded_sections, heading, report
from core.run.run_values import ModelCall, RunValues
from core.run.step_events import ModelDecided

R = TypeVar("R", bound=RunValues)
_MOST_BYTES = 500_000_000
"""The most bytes of an index's vectors, far above any real run."""
_NEAR = 8
"""The number of latest calls to search for an event's call. Few calls run at once."""


def without_results_of(run: R, phase: Phase) -> R:
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


def with_section(run: R, event: p.SectionStarted | p.SectionWritten | p.SectionLeftOut, seconds: float) -> R:
    """Return the run after an event of a report section. Its text is the report of the current sections."""
    sections = folded_sections(run.sections, event, seconds)
    if isinstance(event, p.SectionStarted):
        return replace(run, sections=sections, part=sections[event.number - 1].question)
    return replace(run, sections=sections, text=report(sections))


def index_event(index: Index) -> e.Indexed:
    """Return the event for an index and its vectors. `whole_index` restores the index from it."""
    import numpy as np

    waiting = index.waiting
    if index.vectors is None or not len(waiting):
        return e.Indexed(index)
    rows = np.setdiff1d(np.arange(len(index.passages)), waiting)
    return e.Indexed(replace(index, vectors=index.vectors[rows]), rows)


def whole_index(event: e.Indexed) -> Index:
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


def with_batch(run: R, batch: e.Embedded) -> R:
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


def add_usage(sums: dict[UsageKey, e.ModelUsed], used: e.ModelUsed) -> None:
    """Add a call to the sum of its phase and model. Calls whose provider states a cost have a separate sum."""
    usage = used.usage
    key = (used.phase, usage.model, usage.local, usage.tokens.cost is None)
    sums[key] = replace(used, usage=sums[key].usage + usage) if key in sums else used


def usage_of(start: e.RunStarted) -> tuple[e.ModelUsed, ...]:
    """Return model usage from before the run began, counted as planning."""
    used = (*(start.turn.usage if start.turn else ()), *(start.client.usage if start.client else ()))
    return tuple(e.ModelUsed(Phase.PLAN, usage) for usage in used)


def with_merged_hits(run: R) -> R:
    """Return the run with its replies' hits merged. The replies are taken in the order of the queries."""
    planned = [(query, run.replies[query]) for query in run.queries if query in run.replies]
    return replace(run, hits=merge_hits(planned, run.knobs.search))


def folded_calls(run: RunValues, record: e.Record) -> tuple[ModelCall, ...]:
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


def _with_answer(run: RunValues) -> tuple[ModelCall, ...]:
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
