"""People who move a slider, alone and beside one large question: `python -m bench.beside`.

All share one server. The question has 10 queries with 20 results each and the embedder that ships. The people are this
process, which shares the cores with the server: each line tells the CPU that they took.
"""

import argparse
import asyncio
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from statistics import median, quantiles
from threading import Event

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
START = 4.0
"""Seconds after everybody has arrived, at which the question is asked: everybody has moved."""
PATIENCE = 120.0


def ask(url: str, arrived: Event) -> float:
    """Return the seconds from the question to the end of its run."""
    arrived.wait()
    time.sleep(START)
    began = time.perf_counter()
    body = {"question": question(0), "knobs": {"plan": {"queries": 10}, "search": {"results": 20}}}
    httpx.post(f"{url}/api/research", json=body, timeout=PATIENCE).raise_for_status()
    return time.perf_counter() - began


def measured(url: str, run: str, people: int, seconds: float, arrived: Event) -> str:
    """Return the number of moves, the median and 95th percentile of their seconds, and the people's CPU."""
    cpu = 0.0

    def begin() -> None:
        nonlocal cpu
        cpu = time.process_time()
        arrived.set()

    took = asyncio.run(moves(url, run, people, seconds, PAUSE, begin))
    cpu = time.process_time() - cpu
    return (
        f"{len(took)} moves, median {median(took):.2f} s, 95 % {quantiles(took, n=20)[-1]:.2f} s; "
        f"the people took {cpu / seconds:.2f} of a core"
    )


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
            print("alone:", measured(site.url, run, people, ALONE, Event()), flush=True)
            arrived = Event()
            asked: Future[float] = asking.submit(ask, site.url, arrived)
            beside = measured(site.url, run, people, BESIDE, arrived)
            print(f"beside a question of {asked.result():.1f} s: {beside}")


if __name__ == "__main__":
    main()
