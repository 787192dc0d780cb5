"""People who move a slider, alone and beside one large question: `python -m bench.beside`.

All share one server. The question has 10 queries with 20 results each and the embedder that ships.
"""

import argparse
import asyncio
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from statistics import median, quantiles

import httpx

from bench.browsing import connected, made
from bench.movers import moves
from bench.openquery import knobs
from bench.schedule import Seed, question
from bench.world import World

PAUSE = 3.0
"""Seconds from one move of a person to the next."""
ALONE, BESIDE = 12.0, 25.0
"""Seconds of each measurement."""
START = 6.0
"""Seconds of the second measurement after which the question is asked: everybody has moved."""
PATIENCE = 120.0


def ask(url: str) -> float:
    """Return the seconds from the question to the end of its run."""
    time.sleep(START)
    began = time.perf_counter()
    body = {"question": question(0), "knobs": {"plan": {"queries": 10}, "search": {"results": 20}}}
    httpx.post(f"{url}/api/research", json=body, timeout=PATIENCE).raise_for_status()
    return time.perf_counter() - began


def told(seconds: list[float]) -> str:
    """Return the number of moves with the median and the 95th percentile of their seconds."""
    return f"{len(seconds)} moves, median {median(seconds):.2f} s, 95 % {quantiles(seconds, n=20)[-1]:.2f} s"


def main() -> None:
    """Measure both, and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=40)
    people = parser.parse_args().people
    seed = Seed(1, 10, 20, real=False, runs=3, repeats=0)
    with World(seed) as world, tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(1) as asking:
        folder = Path(name)
        run = made(world, folder, question(1), knobs(1, 2, extractor="fast"))
        with connected(world, folder, embedding_model="local") as site:
            print("alone:", told(asyncio.run(moves(site.url, run, people, ALONE, PAUSE))), flush=True)
            asked: Future[float] = asking.submit(ask, site.url)
            beside = asyncio.run(moves(site.url, run, people, BESIDE, PAUSE))
            print(f"beside a question of {asked.result():.1f} s: {told(beside)}")


if __name__ == "__main__":
    main()
