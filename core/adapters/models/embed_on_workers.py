"""The local embedding model on workers. Other embedders are servers: their keys stay in this process."""

import asyncio
from collections.abc import Sequence
from functools import cache

from core.adapters.models.local_embedder import MiniLM
from core.adapters.workers.jobs import Workers, run_job
from core.errors import EmbedFailed
from core.model import Embeddings
from core.ports import OnRetry


class EmbedOnWorkers:
    """The `Embed` port over `MiniLM` in the processes of `workers`, one call a job.

    The same calls give the same vectors wherever they run, on machines of one kind: what a text is embedded together
    with changes its last digits, because the model computes in whole numbers.
    """

    def __init__(self, model: MiniLM, workers: Workers) -> None:
        """`model` is the local model, which the workers must have, too."""
        self.identity, self.host = model.identity, model.host
        self.batch, self.languages, self.reads_whole = model.batch, model.languages, model.reads_whole
        self._workers = workers

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        """As `MiniLM`.

        Raises:
            EmbedFailed: as there, and when the workers have another model.
            WorkersFailed: when the workers end.
        """
        return await run_job(self._workers, _vectors, self.identity, list(texts))


@cache
def _model() -> MiniLM:
    return MiniLM()


def _vectors(identity: str, texts: list[str]) -> Embeddings:
    if _model().identity != identity:
        raise EmbedFailed(
            f"A worker has another local model, {_model().identity}.",
            hint="Install the same version of OpenQuery on every worker.",
        )
    return asyncio.run(_model()(texts))
