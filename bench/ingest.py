"""How an ingest speeds up with worker processes, on this machine and on a Dask cluster on loopback.

    python -m bench.ingest [--pages 120] [--workers 1 2 4] [--rounds 2] [--dask]

Web pages of 3,000 characters in words of the handbook are read, split, embedded by the shipped model and stored in the embedded
library, after a first small ingest that starts every part. Each round measures every kind of workers once; the fastest
round of each counts. The baseline is one worker of the same kind. Efficiency is its time, divided by that of the workers
and by their number; more workers than cores cannot reach 1, nor two on a machine that does other work. The CPU time for
a page, of all processes together, tells by how much more workers make the work itself dearer; it depends less on other
work. "Here" is what of it the command itself and the database's process take: no worker takes that over, and so it bounds
how many of them can be busy.
"""

import argparse
import os

from core.features.library.services.connections import LibraryConnections

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

import asyncio
import random
import re
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.measure import cpu_of, cpu_seconds
from core.adapters.workers.jobs import Workers
from core.config.settings import HANDBOOK, Settings
from core.features.library.ingests import TaskState, Upload
from core.features.library.qdrant.edge_collections import EdgeCollections
from core.features.library.services.ingest_workers import ingest_workers
from core.runtime.engine import Engine

CHARACTERS = 3_000
SENTENCE = 14
"""Words."""


def pages(count: int, seed: int) -> list[Upload]:
    """HTML pages of one article each, no two alike."""
    dice = random.Random(seed)
    lexicon = re.findall(r"[A-Za-z]+", "".join(page.read_text() for page in sorted(HANDBOOK.glob("*.md"))))
    return [Upload(f"{seed}-{number}.html", _html(dice, lexicon)) for number in range(count)]


def _html(dice: random.Random, lexicon: list[str]) -> bytes:
    paragraphs, size = [], 0
    while size < CHARACTERS:
        sentences = [" ".join(dice.choices(lexicon, k=SENTENCE)).capitalize() + "." for _ in range(5)]
        paragraphs.append(f"<p>{' '.join(sentences)}</p>")
        size += len(paragraphs[-1])
    title = " ".join(dice.choices(lexicon, k=4))
    body = "".join(paragraphs)
    return f"<html><head><title>{title}</title></head><body><main><h1>{title}</h1>{body}</main></body></html>".encode()


async def measured(workers: Workers | None, count: int) -> tuple[float, int, float, float]:
    """Seconds of the ingest, its passages, and seconds of CPU that it took: here, and in all processes."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), ollama_url="")
        async with Engine(settings) as engine:
            engine.part(LibraryConnections).ingest_with(workers)
            started = workers.count * 4 if workers else 4
            await (
                await engine.part(LibraryConnections).library.ingests.add("pages", pages(started, 1))
            ).wait()
            database = engine.part(LibraryConnections).database
            assert isinstance(database, EdgeCollections) and database.pid
            uploads = pages(count, 2)
            everywhere, here = cpu_seconds(), time.process_time() + cpu_of(database.pid)
            began = time.perf_counter()
            ingest = await (
                await engine.part(LibraryConnections).library.ingests.add("pages", uploads)
            ).wait()
            seconds = time.perf_counter() - began
            here = time.process_time() + cpu_of(database.pid) - here
            everywhere = cpu_seconds() - everywhere
            assert ingest.counts == {TaskState.DONE: count}, ingest.message
            return seconds, ingest.passages, here, everywhere


@asynccontextmanager
async def opened(kind: str, count: int) -> AsyncIterator[Workers | None]:
    if kind == "processes":
        async with ingest_workers(count=count) as workers:
            yield workers
        return
    from tests.services.dask import dask_scheduler

    with tempfile.TemporaryDirectory() as folder, dask_scheduler(Path(folder)) as cluster:
        cluster.start_workers(count)
        async with ingest_workers(cluster.address) as workers:
            yield workers


async def report(options: argparse.Namespace) -> None:
    kinds = [(kind, count) for kind in ("processes", *["Dask"] * options.dask) for count in options.workers]
    best: dict[tuple[str, int], tuple[float, int, float, float]] = {}
    for _ in range(options.rounds):
        for kind, count in kinds:
            async with opened(kind, count) as workers:
                result = await measured(workers, options.pages)
            best[kind, count] = min(result, best.get((kind, count), result))
    load = os.getloadavg()[0]
    print(
        f"{options.pages:,} pages of {CHARACTERS:,} characters, {os.cpu_count()} cores, load {load:.1f}\n"
        "| workers | s | pages/s | passages/s | against one | efficiency | CPU ms a page | of these here |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    for (kind, count), (seconds, passages, here, everywhere) in best.items():
        ratio = best[kind, options.workers[0]][0] / seconds
        print(
            f"| {kind}, {count} | {seconds:.1f} | {options.pages / seconds:.1f} | {passages / seconds:.0f} | "
            f"{ratio:.2f} x | {ratio / count * options.workers[0]:.2f} | "
            f"{everywhere / options.pages * 1000:.0f} | {here / options.pages * 1000:.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=120)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--dask", action="store_true", help="also a Dask scheduler and workers on loopback")
    asyncio.run(report(parser.parse_args()))


if __name__ == "__main__":
    main()
