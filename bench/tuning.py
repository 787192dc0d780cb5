"""From a turned knob to the new ranking, on the server: milliseconds, and what was asked of the world.

    python -m bench.tuning                       # 500, 2,000 and 10,000 passages
    python -m bench.tuning --browser             # the same runs and the demo library, in Chromium

The yardstick is numpy's product of the matrix of vectors with the question's vector, timed next to it.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import cycle
from statistics import median
from typing import Any

from bench.openquery import knobs, warmed
from bench.schedule import Seed, question
from bench.world import World
from core import Knobs, Run, research, retune
from core.runtime.engine import Engine
from core.runtime.event_loop import run_async
from core.stages.ranking.bm25 import bm25_index

QUERIES = 10
_PER_PAGE = 25
"""Passages of one page, about."""
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""For the yardstick: on a busy machine BLAS threads wait for each other for tens of milliseconds."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A knob, and the values between which it is turned."""

    name: str
    group: str
    field: str
    values: tuple[Any, ...]
    times: int = 12

    def knobs(self, base: Knobs) -> Iterator[Knobs]:
        for _, value in zip(range(self.times), cycle(self.values), strict=False):
            group = replace(getattr(base, self.group), **{self.field: value})
            yield replace(base, **{self.group: group})


TURNS = (
    Turn("top-k", "rank", "top_k", (12, 6)),
    Turn("threshold", "rank", "threshold", (0.02, -1.0)),
    Turn("strategy: bm25", "rank", "strategy", ("bm25",)),
    Turn("strategy: fused", "rank", "strategy", ("fused",)),
    Turn("strategy: cosine", "rank", "strategy", ("cosine",)),
    Turn("size, new", "chunk", "size", (400, 300), times=2),
    Turn("size, seen before", "chunk", "size", (500, 400, 300), times=6),
)


async def measure(world: World, base: Knobs) -> None:
    async with warmed(world.search_url, world.models_url, warm_run=1, extractor="fast") as engine:
        ports = await engine.ports(base)
        run = await research(question(0), base, ports)
        if run.index is None or run.index.vectors is None or run.index.question is None:
            raise RuntimeError(f"there is nothing to tune: {run.status}, {run.error}")
        vectors, asked = run.index.vectors, run.index.question
        product = _median_ms(lambda: vectors @ asked, times=50)
        began = time.perf_counter()
        bm25_index(
            run.index.passages, run.pages
        )  # as a server does when a run has ended, before anybody turns a knob
        read = 1000 * (time.perf_counter() - began)
        print(
            f"\n{len(vectors):,} passages of {len(run.pages)} pages; matrix x vector {product:.2f} ms; ",
            end="",
        )
        print(f"their words, read ahead in the background, {read:.0f} ms\n")
        print("| turned | ms, first | ms | / product | embedding calls | vectors computed | other requests |")
        print("|---|---|---|---|---|---|---|")
        for turn in TURNS:
            run, line = await _turned(turn, run, engine, world, product)
            print(line, flush=True)


async def _turned(turn: Turn, run: Run, engine: Engine, world: World, product: float) -> tuple[Run, str]:
    before = world.counts()
    took: list[float] = []
    computed = 0
    for turned in turn.knobs(run.knobs):
        ports = await engine.ports(turned)
        began = time.perf_counter()
        run = await retune(run, turned, ports)
        took.append(1000 * (time.perf_counter() - began))
        computed += run.vectors_computed if turn.group == "chunk" else 0
    asked = world.counts() - before
    embeddings = asked.pop("embeddings", 0)
    middle = median(took)
    return run, (
        f"| {turn.name} | {took[0]:.1f} | {middle:.1f} | {middle / product:.1f} | {embeddings} | {computed} "
        f"| {asked.total()} |"
    )


def _median_ms(work: Callable[[], object], *, times: int) -> float:
    took: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append(1000 * (time.perf_counter() - began))
    return median(took)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", default="500,2000,10000", help="about so many, separated by commas")
    parser.add_argument(
        "--browser", action="store_true", help="from a key press to the screen, with Chromium and Playwright"
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.browser:
        from bench.browsing import measure as browsed  # its packages are those of the tests

        browsed([int(passages) for passages in args.passages.split(",")], QUERIES, _PER_PAGE)
        return
    for passages in args.passages.split(","):
        if not args.one:
            command = [sys.executable, "-m", "bench.tuning", "--one", "--passages", passages]
            subprocess.run(command, env=os.environ | _ONE_THREAD, check=True)
            continue
        results = max(1, round(int(passages) / _PER_PAGE / QUERIES))
        with World(Seed(1, QUERIES, results, real=False, runs=2, repeats=0)) as world:
            run_async(measure(world, knobs(QUERIES, results, extractor="fast")))


if __name__ == "__main__":
    main()
