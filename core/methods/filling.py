"""Embed lazily: candidates for the context first, other passages when the run is viewed."""

import asyncio
from functools import partial

from core.errors import EmbedFailed
from core.methods.run_context import RunContext
from core.model import Index, Phase, Ranking, Severity
from core.ports import Ports
from core.run.events import Note, PhaseEnded, Ranked
from core.run.recorder import Recorder
from core.run.state import Run
from core.run.transitions import with_batch
from core.stages.embedding.batching import embed_rows
from core.stages.embedding.cascade import candidate_rows
from core.stages.rank import rank
from core.text.sanitize import plural, pluralize

PART = 256
"""Passages embedded between rankings. Each ranking updates the map, the table and the scores."""


async def embed_candidates(context: RunContext) -> None:
    """Embed all passages that can plausibly enter the context.

    A failed call ends the embedding, with a note.
    """
    question, knobs, ports, recorder = context.question, context.knobs.rank, context.ports, context.recorder
    while index := waiting_index(recorder.run, ports):
        pages = recorder.run.pages
        ranking = await asyncio.to_thread(rank, question, index, knobs, pages)
        rows = await asyncio.to_thread(candidate_rows, question, index, ranking, knobs, pages)
        if not len(rows):
            return
        try:
            recorder.emit(
                await embed_rows(index, rows, ports.embedder_of(index), recorder.emit, context.budget)
            )
        except EmbedFailed as error:
            message = f"Not every passage that could enter the context has a vector: {error.message}"
            recorder.emit(Note(Phase.EMBED, message, error.hint, Severity.WARNING))
            return
        finally:
            recorder.emit(PhaseEnded(Phase.EMBED))


async def embed_remaining(ports: Ports, recorder: Recorder) -> None:
    """Embed the waiting passages, best first, ranking each part.

    A failed call ends the embedding, with a note.
    """
    while (index := waiting_index(recorder.run, ports)) and (ranking := recorder.run.ranking):
        waiting = set(index.waiting.tolist())
        rows = ranking.order[[row in waiting for row in ranking.order.tolist()]][:PART]
        try:
            part = await embed_rows(index, rows, ports.embedder_of(index), recorder.emit)
        except EmbedFailed as error:
            message = f"{pluralize(len(waiting), 'passage')} {plural(len(waiting), 'is', 'are')} ranked by words alone: {error.message}"
            recorder.emit(Note(Phase.EMBED, message, error.hint, Severity.WARNING))
            return
        again = await _ranked(with_batch(recorder.run, part))
        recorder.emit(part)  # with its ranking, so that the run always has matching vectors and ranking
        recorder.emit(Ranked(again))


def is_incomplete(run: Run) -> bool:
    """Return whether passages wait for their vectors."""
    return run.index is not None and run.ranking is not None and len(run.index.waiting) > 0


def waiting_index(run: Run, ports: Ports) -> Index | None:
    """Return the index with embeddable waiting passages, or None."""
    index = run.index
    return (
        index
        if index and len(index.waiting) and index.embedder == ports.embedder_of(index).identity
        else None
    )


async def _ranked(run: Run) -> Ranking:
    """Rank by the present vectors, reusing reranking scores."""
    assert run.index is not None and run.ranking is not None  # noqa: S101
    again = partial(rank, rerank=run.ranking.rerank, reranker=run.ranking.reranker)
    return await asyncio.to_thread(again, run.question, run.index, run.knobs.rank, run.pages)
