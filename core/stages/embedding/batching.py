"""Group a stream of items into few large calls, and call the embedder for texts or waiting passages."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.errors import EmbedFailed
from core.model import Index, Phase, Rows
from core.ports import Embed
from core.run.events import Embedded, Emit, ModelRetry, ModelUsed
from core.stages.embedding.vector_buffer import Vectors
from core.stages.time_budget import UNLIMITED, TimeBudget, timeout_of
from core.text.sanitize import pluralize

T = TypeVar("T")

BATCH_SECONDS = 0.02
"""The time for which a batch's first item waits for more.

It doubles with each running call, so that a slow stream does not fill every slot with small calls.
"""

_END: Any = object()


async def embed_in_batches(texts: Sequence[str], embed: Embed) -> NDArray[np.float32]:
    """Embed one or more texts in sequential batches.

    Raises:
        EmbedFailed: when the embedder fails.
        ValueError: when there is no text, or the vectors of two calls differ in width.
    """
    starts = range(0, len(texts), embed.batch)
    return np.concatenate([(await embed(texts[start : start + embed.batch])).vectors for start in starts])


async def batched(
    arrivals: AsyncGenerator[tuple[T, ...]],
    call: Callable[[tuple[T, ...]], Awaitable[None]],
    *,
    size: int,
    at_once: int,
) -> None:
    """Run `call` on batches of all items of `arrivals`.

    A call has at most `size` items, and at most `at_once` calls run at a time. The last slot is reserved for a full
    call, or for the remaining items when the stream ends. The first exception is raised. However this ends, `arrivals`
    is closed and no call is left running.
    """
    loop = asyncio.get_running_loop()
    waiting: list[T] = []
    since = 0.0
    running: set[asyncio.Future[None]] = set()
    async with aclosing(arrivals):
        coming: asyncio.Future[Any] | None = asyncio.ensure_future(anext(arrivals, _END))
        try:
            while coming or waiting or running:
                due = since + BATCH_SECONDS * 2 ** len(running)
                while waiting and len(running) < at_once:
                    partial_may_go = len(running) < max(at_once - 1, 1) and loop.time() >= due
                    if not (len(waiting) >= size or coming is None or partial_may_go):
                        break
                    running.add(asyncio.ensure_future(call(tuple(waiting[:size]))))
                    del waiting[:size]
                may_wait = bool(waiting) and len(running) < max(at_once - 1, 1)
                done, _ = await asyncio.wait(
                    running | ({coming} if coming else set()),
                    timeout=max(due - loop.time(), 0) if may_wait else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                for finished in done & running:
                    running.discard(finished)
                    finished.result()
                if coming in done:
                    items = coming.result()
                    if items is _END:
                        coming = None
                    else:
                        since = since if waiting else loop.time()
                        waiting.extend(items)
                        coming = asyncio.ensure_future(anext(arrivals, _END))
        finally:
            unfinished = [*running, *([coming] if coming else [])]
            for task in unfinished:
                task.cancel()
            await asyncio.gather(*unfinished, return_exceptions=True)


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
