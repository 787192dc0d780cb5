"""Call the embedder for texts, or for passages that wait for their vectors."""

import asyncio
from collections.abc import Sequence

import numpy as np

from core.errors import EmbedFailed
from core.model import Index, Phase, Rows
from core.ports import Embed
from core.run.events import Embedded, Emit, ModelRetry, ModelUsed
from core.stages.embedding.vector_buffer import Vectors
from core.stages.time_budget import UNLIMITED, TimeBudget, timeout_of
from core.text.sanitize import pluralize


async def embed_rows(
    index: Index, rows: Rows, port: Embed, emit: Emit, budget: TimeBudget = UNLIMITED
) -> Embedded:
    """Embed these rows of the index. The caller emits the returned event. `emit` is called with the calls' usage.

    Raises:
        EmbedFailed: when the embedder fails.
    """
    assert index.question is not None  # noqa: S101  # other passages have vectors
    passages, parts, reused = [index.passages[row] for row in rows.tolist()], [], 0
    for start in range(0, len(passages), port.batch):
        texts = [passage.text for passage in passages[start : start + port.batch]]
        vectors, cached = await vectors_of(port, texts, emit, budget)
        parts.append(vectors)
        reused += cached
    vectors = np.concatenate(parts)
    cosine = tuple(round(float(score), 4) for score in np.vecdot(vectors, index.question))
    return Embedded(0, tuple(passage.id for passage in passages), cosine, reused, rows, vectors)


async def vectors_of(
    port: Embed, texts: Sequence[str], emit: Emit, budget: TimeBudget, batch: int = 0
) -> tuple[Vectors, int]:
    """Embed each text, and count the cached vectors. `batch` is 0 for the question."""
    if not texts:
        return np.empty((0, 0), dtype=np.float32), 0
    waiting = asyncio.timeout(timeout_of(budget.embedding_left))
    try:
        async with waiting:
            vectors, reused, usage = await port(
                texts, lambda retry: emit(ModelRetry(Phase.EMBED, retry, batch))
            )
    except TimeoutError as error:
        if not waiting.expired():
            raise
        raise EmbedFailed(
            f"{port.identity} had not answered when its time was over.", hint="Have the time limit raised."
        ) from error
    if usage:
        emit(ModelUsed(Phase.EMBED, usage))
    if len(vectors) != len(texts):
        raise EmbedFailed(
            f"{port.identity} gave {pluralize(len(vectors), 'vector')} for {pluralize(len(texts), 'text')}.",
            hint="Check that the address is that of an embedding model.",
        )
    return vectors, reused
