"""Run the local embedding model on workers. Other embedders are servers, and their keys stay in this process."""

import asyncio
import operator
from collections.abc import Sequence
from functools import cache, reduce

import numpy as np

from core.adapters.models.local_embedder import NOTHING, MiniLM
from core.adapters.workers.jobs import Workers, run_job
from core.errors import EmbedFailed
from core.model import Embeddings
from core.ports import Embed, OnRetry


class EmbedOnWorkers:
    """An `Embed` port over `MiniLM` on `workers`. A job has as many texts as the model reads at a time.

    A job uses one core. On machines of one kind, a text has the same vector wherever it is embedded.
    """

    def __init__(self, model: MiniLM, workers: Workers) -> None:
        """Embed with the local `model`, which the workers must have too."""
        self.identity, self.host = model.identity, model.host
        self.languages, self.reads_whole = model.languages, model.reads_whole
        self._job_texts = model.batch
        self.batch = model.batch * workers.count
        self._workers = workers

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        """Embed texts like `MiniLM`, on workers.

        Raises:
            EmbedFailed: when `MiniLM` fails, or the workers have another model.
            WorkersFailed: when the workers end.
        """
        if not texts:
            return NOTHING
        starts = range(0, len(texts), self._job_texts)
        jobs = (list(texts[start : start + self._job_texts]) for start in starts)
        parts = await asyncio.gather(*(run_job(self._workers, _vectors, self.identity, job) for job in jobs))
        usage = reduce(operator.add, (part.usage for part in parts if part.usage))
        return Embeddings(np.concatenate([part.vectors for part in parts]), usage=usage)


def embed_on(workers: Workers, embed: Embed) -> Embed:
    """Run the local model on workers. Other embedders are returned unchanged."""
    return EmbedOnWorkers(embed, workers) if isinstance(embed, MiniLM) else embed


@cache
def _model() -> MiniLM:
    return MiniLM()


def _vectors(identity: str, texts: list[str]) -> Embeddings:
    if _model().identity != identity:
        raise EmbedFailed(
            f"A worker has another local model, {_model().identity}.",
            hint="Install the same version of OpenQuery on every worker.",
        )
    return _model().in_this_thread(texts)
