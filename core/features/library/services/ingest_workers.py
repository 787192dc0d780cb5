"""Workers that read, split and embed the documents of large ingests: local processes or a Dask cluster."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from core.adapters.web.extraction_pool import ExtractionPool
from core.adapters.workers.dask_cluster import DaskCluster
from core.adapters.workers.jobs import Workers, run_job
from core.adapters.workers.local_processes import LocalProcesses
from core.config.knobs import ChunkKnobs
from core.features.library.add_document import DocumentRead, read_document
from core.features.library.ingests import IngestTask


@asynccontextmanager
async def ingest_workers(scheduler: str = "", count: int = 0) -> AsyncGenerator[Workers | None]:
    """Yield the workers of an ingest, or None.

    `scheduler` is the address of a Dask cluster, and `count` a number of processes of this machine, which end with the
    block. The workers are None if both are unset.

    Raises:
        BadInput: when Dask is not installed.
        WorkersFailed: when the cluster cannot be used.
    """
    if not (scheduler or count):
        yield None
        return
    with await asyncio.to_thread(
        lambda: DaskCluster(scheduler) if scheduler else LocalProcesses(count)
    ) as workers:
        yield workers


class ReadOnWorkers:
    """`read_document` as a job on workers. Each worker has a confined process that parses for it."""

    def __init__(self, workers: Workers) -> None:
        self.count = workers.count
        self._workers = workers

    async def __call__(self, task: IngestTask, body: bytes, embedder: str, knobs: ChunkKnobs) -> DocumentRead:
        """Run `read_document` on a worker.

        Raises:
            Unreadable: when `read_document` raises it.
            WorkersFailed: when the workers end.
        """
        return await run_job(self._workers, _read, task, body, embedder, knobs)


class _Reader(threading.local):
    """The event loop and extraction process of a worker's thread. Both are kept between jobs."""

    def __init__(self) -> None:
        self.loop, self.extract = asyncio.Runner(), ExtractionPool(1)


_reader = _Reader()


def _read(task: IngestTask, body: bytes, embedder: str, knobs: ChunkKnobs) -> DocumentRead:
    return _reader.loop.run(read_document(task, body, embedder, knobs, _reader.extract))
