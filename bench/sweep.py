"""How a sweep of settings speeds up with worker processes, on this machine and on a Dask cluster on loopback.

    python -m bench.sweep [--passages 10000] [--questions 400] [--workers 1 2 4] [--dask]

Passages and questions are random words, vectors are random, so that ranking and measuring are all the work. The
baseline is one thread of this process. Efficiency is its time, divided by that of the workers and by their number;
more workers than cores cannot reach 1. Start-up is measured apart: processes import OpenQuery before their first job.
"""

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

import asyncio
import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.adapters.workers.dask_cluster import DaskCluster
from core.adapters.workers.jobs import InProcess, Workers, run_job
from core.adapters.workers.local_processes import LocalProcesses
from core.config.knobs import Knobs
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.experiment import run_experiment
from core.features.evaluate.sweep import settings
from core.model import Embeddings
from core.ports import OnRetry
from core.runtime.event_loop import run_async

WORDS, WIDTH, LENGTH = 5_000, 384, 80
SWEEP = {"rank": {"strategy": ["cosine", "bm25", "fused"], "top_k": [4, 6, 8, 10]}}


class RandomVectors:
    """The `Embed` port with a random direction for each text: embedding is no part of what is measured."""

    identity, host, batch = "random", "", 4096
    languages: frozenset[str] = frozenset()

    async def reads_whole(self, text: str) -> bool:
        """True: every text has a vector."""
        return True

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        """Random unit vectors of `WIDTH` dimensions."""
        rows = np.stack([self._row(text) for text in texts])
        return Embeddings(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def _row(self, text: str) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        return np.random.default_rng(seed).standard_normal(WIDTH, dtype=np.float32)


def data_set(passages: int, questions: int) -> DataSet:
    """Documents of one passage each; a question has eight words of its document."""
    dice = np.random.default_rng(0)
    rows = dice.zipf(1.3, (passages, LENGTH)) % WORDS
    texts = [" ".join(f"w{word}" for word in row) + "." for row in rows]
    asked = tuple(
        Question(
            id=str(number),
            text=" ".join(f"w{word}" for word in dice.choice(rows[number % passages], 8)),
            judgements={str(number % passages): 1},
        )
        for number in range(questions)
    )
    documents = [CorpusDocument(id=str(number), text=text) for number, text in enumerate(texts)]
    return DataSet(name="random words", questions=asked, documents=lambda: iter(documents))


async def measured(
    workers: Workers, data: DataSet, tried: Sequence[Knobs]
) -> tuple[float, float, list[object]]:
    """Seconds until every worker has done a job, seconds of the sweep, and its figures."""
    began = time.perf_counter()
    await asyncio.gather(*(run_job(workers, os.getpid) for _ in range(workers.count)))
    ready = time.perf_counter()
    figures = [one.values async for one in run_experiment(data, tried, RandomVectors(), workers)]
    return ready - began, time.perf_counter() - ready, list(figures)


def report(options: argparse.Namespace) -> None:
    data, tried = data_set(options.passages, options.questions), settings(SWEEP)
    print(
        f"{options.passages:,} passages, {options.questions:,} questions, {len(tried)} settings, {os.cpu_count()} cores"
    )
    print("| workers | start s | sweep s | against one thread | efficiency |\n|---|---|---|---|---|")
    kinds: list[tuple[str, int, Callable[[], AbstractContextManager[Workers]]]] = [
        ("one thread", 1, InProcess)
    ]
    kinds += [
        (f"{count} processes", count, lambda count=count: LocalProcesses(count)) for count in options.workers
    ]
    if options.dask:
        kinds += [
            (f"Dask, {count} workers", count, lambda count=count: on_cluster(count))
            for count in options.workers
        ]
    base, expected = 0.0, None
    for name, count, opened in kinds:
        with opened() as workers:
            start, seconds, figures = run_async(measured(workers, data, tried))
        base, expected = base or seconds, expected or figures
        same = "" if figures == expected else " OTHER RESULTS"
        print(
            f"| {name} | {start:.1f} | {seconds:.1f} | {base / seconds:.2f} x | {base / seconds / count:.2f}{same} |"
        )


@contextmanager
def on_cluster(count: int) -> Iterator[Workers]:
    from tests.services.dask import dask_scheduler

    with tempfile.TemporaryDirectory() as folder, dask_scheduler(Path(folder)) as cluster:
        cluster.start_workers(count)
        with DaskCluster(cluster.address) as workers:
            yield workers


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--dask", action="store_true", help="also a Dask scheduler and workers on loopback")
    report(parser.parse_args())


if __name__ == "__main__":
    main()
