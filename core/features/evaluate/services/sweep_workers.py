"""Choose the workers of a sweep: this process, local processes, or a Dask cluster."""

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from core.adapters.cache.embedding_cache import CachedEmbed
from core.adapters.models.embed_on_workers import embed_on
from core.adapters.workers.dask_cluster import DaskCluster
from core.adapters.workers.jobs import InProcess, Workers
from core.adapters.workers.local_processes import LocalProcesses
from core.config.egress import PAGES
from core.config.knobs import Knobs
from core.features.evaluate.data_sets.corpus import data_needs_multilingual
from core.features.evaluate.data_sets.data_set import DataSet
from core.features.evaluate.failing_ports import require_reranker
from core.features.evaluate.sweep_cost import SweepModels
from core.ports import Rerank
from core.runtime.engine import Engine

WORTH_PROCESSES = 1_000_000
"""The fewest ranked passages that justify processes. Each question and setting counts.

A ranking takes 2 to 4 µs a passage, so this many take 2 to 4 s in one thread. Starting a process takes 0.4 s.
"""


@asynccontextmanager
async def sweep_workers(
    data: DataSet, tried: Sequence[Knobs], scheduler: str = "", *, count: int = 0, niceness: int = 0
) -> AsyncGenerator[Workers]:
    """Yield the workers of a sweep.

    They belong to the Dask cluster of `scheduler`, or are `count` processes of this machine (0: one per core). These
    yield to other processes by `niceness`, from 0 to 19, and end with the block.

    Raises:
        BadInput: when Dask is not installed, or a document of the data set cannot be used.
        WorkersFailed: when the cluster cannot be used.
    """

    def opened() -> DaskCluster | LocalProcesses | InProcess:
        if scheduler:
            return DaskCluster(scheduler)
        processes = count or os.cpu_count() or 1
        if processes > 1:
            passages = sum(data.contents().characters / knobs.chunk.size for knobs in tried)
            if len(data.questions) * passages >= WORTH_PROCESSES:
                return LocalProcesses(processes, niceness=niceness)
        return InProcess()

    with await asyncio.to_thread(opened) as workers:
        yield workers


async def data_embedder(engine: Engine, data: DataSet) -> CachedEmbed:
    """Return the operator's embedder for a data set, or the multilingual one.

    The multilingual embedder is used if questions and documents are in different languages, as in runs.

    Raises:
        BadInput: when `data_needs_multilingual` raises it.
        EmbedFailed: when `Models.embedder` raises it.
    """
    embed = await engine.models.embedder(origins=data.origins)
    multilingual = engine.models.multilingual_for(embed)
    is_multilingual = await asyncio.to_thread(data_needs_multilingual, data, multilingual)
    return multilingual if multilingual and is_multilingual else embed


def sweep_embedder(embed: CachedEmbed, engine: Engine, workers: Workers) -> CachedEmbed:
    """Return the embedder with this machine's vector cache. The local model runs on the cluster if one is used."""
    if isinstance(workers, DaskCluster):
        return CachedEmbed(embed_on(workers, embed.embed), engine.write_cache)
    return embed


async def sweep_models(engine: Engine, processes: int = 0) -> SweepModels:
    """Return the models and processes that a sweep estimate needs.

    The models are the operator's. Raises the errors of `Models.embedder`.
    """
    embed = await engine.models.embedder(origins=(PAGES,))
    return SweepModels(
        embed=embed.embed,
        cached=embed.count_cached,
        rerank=engine.models.reranker(),
        prices=engine.prices.read(),
        workers=processes or engine.settings.workers or os.cpu_count() or 1,
    )


def sweep_reranker(engine: Engine, tried: Sequence[Knobs], data: DataSet) -> Rerank | None:
    """Return the operator's reranking model for settings that need it.

    Raises:
        BadInput: when the model is missing, or the egress policy withholds the data set from it.
    """
    reranker = engine.models.reranker()
    require_reranker(tried, reranker)
    if reranker and any(knobs.rank.rerank for knobs in tried):
        engine.egress.require(reranker.identity, reranker.host, data.origins)
    return reranker
