"""Rerank the best passages with a reranking model. If it fails, the order is kept."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from core.config.knobs import RankKnobs
from core.errors import RerankFailed
from core.model import Index, Page, Phase, Ranking, Severity
from core.ports import Rerank
from core.run.events import Emit, ModelUsed, Note
from core.stages.rank import rank


async def rank_and_rerank(  # noqa: PLR0917  # a stage takes what it uses
    question: str,
    index: Index,
    knobs: RankKnobs,
    pages: Mapping[str, Page],
    port: Rerank | None,
    emit: Emit,
    previous: Ranking | None = None,
) -> Ranking:
    """Rank passages, and rerank them if requested.

    The order is that of `rank`. If the knobs ask for it, the model behind `port` reranks. Scores in `previous`, an
    earlier ranking of the same index, are reused.
    """
    # In a thread: the first use of BM25 imports its library and reads every passage.
    rank_by = partial(rank, question, index, pages=pages)
    if not knobs.rerank:
        return await asyncio.to_thread(rank_by, knobs)
    first = await asyncio.to_thread(rank_by, replace(knobs, diversity=0.0))
    scores = await rerank(question, index, first, port, emit, previous)
    return await asyncio.to_thread(rank_by, knobs, rerank=scores, reranker=port.identity if port else "")


async def rerank(  # noqa: PLR0917  # a stage takes what it uses
    question: str, index: Index, ranking: Ranking, port: Rerank | None, emit: Emit, previous: Ranking | None
) -> NDArray[np.float32] | None:
    """Score the best passages with the reranking model.

    Returns scores by row, NaN for passages that the model did not read. Scores in `previous`, a ranking of the same
    index, are reused if they are the same model's and cover all needed rows. Without a model, or if it fails, the
    result is None and a note gives the reason.
    """
    if port is None:
        emit(
            Note(
                Phase.RANK,
                "No reranking model is connected, so the passages were not reranked.",
                "Set OPENQUERY_RERANK_URL to the address of a /rerank endpoint, or OPENQUERY_RERANK_MODEL to local, or turn "
                "reranking off.",
                Severity.WARNING,
            )
        )
        return None
    rows = ranking.order[: port.depth]
    before = previous.rerank if previous is not None and previous.reranker == port.identity else None
    if before is not None and len(before) == len(index.passages) and not np.isnan(before[rows]).any():
        return before
    scores = np.full(len(index.passages), np.nan, dtype=np.float32)
    try:
        reply = await port(question, [index.passages[row].text for row in rows.tolist()])
    except RerankFailed as error:
        failed = f"{error.message} The passages were not reranked."
        emit(Note(Phase.RANK, failed, error.hint, Severity.WARNING))
        return None
    if reply.usage:
        emit(ModelUsed(Phase.RANK, reply.usage))
    scores[rows] = reply.scores
    return scores
