"""Many questions at once in one process: do all finish, and does any starve?

    python -m bench.load                         # 50 runs of 3x5 at the same moment
    python -m bench.load --runs 20 --cut
    python -m bench.load --hostile 8             # one run alone, and beside a run of pages that take long to read
    python -m bench.load --hostile 8 --runs 20   # twenty runs at once, without and beside such a run

Every run has pages of its own. Page timeouts are at work: a run with a dead page takes five seconds at least,
so the ideal of each run is told too.
"""

import argparse
import asyncio
import time
from dataclasses import replace
from statistics import median

from bench.measure import cpu_seconds, peak_megabytes
from bench.openquery import knobs, warmed
from bench.schedule import ENOUGH, PAGE_TIMEOUT, QUIET, Plan, Seed, question
from bench.world import World
from core import research
from core.config.knobs import ReadKnobs, SearchKnobs
from core.model import Document, Result, SearchReply
from core.run.events import Fetched, Record
from core.run.state import Run, RunStatus
from core.runtime.event_loop import run_async

_EXTRACTION = 0.03
"""CPU seconds of one page, about."""


async def measure(world: World, *, cut: bool, extractor: str) -> None:
    seed = world.plan.seed
    async with warmed(
        world.search_url, world.models_url, warm_run=seed.runs - 1, extractor=extractor
    ) as engine:
        asked = knobs(seed.queries, seed.results, cut=cut, extractor=extractor)
        ports = await engine.ports(asked)
        before, began = cpu_seconds(), time.perf_counter()
        runs = await asyncio.gather(
            *(research(question(number), asked, ports) for number in range(seed.runs - 1))
        )
        wall, cpu, memory = time.perf_counter() - began, cpu_seconds() - before, peak_megabytes()
    done = [run for run in runs if run.status is RunStatus.DONE and not _stand_ins(run)]
    took = sorted(run.seconds for run in runs)
    ratios = [run.seconds / ideal for run, ideal in zip(runs, _ideals(world.plan, cut=cut), strict=True)]
    print(f"finished          {len(done)} of {len(runs)}")
    print(
        f"slowest / median  {took[-1]:.2f} s / {took[len(took) // 2]:.2f} s = {took[-1] / median(took):.2f}"
    )
    print(f"fastest           {took[0]:.2f} s")
    print(f"over its ideal    median {median(ratios):.2f}, worst {max(ratios):.2f}")
    print(f"wall, CPU         {wall:.2f} s, {cpu:.2f} s, so {cpu / wall:.2f} cores were busy")
    print(f"memory            {memory:.0f} MB")
    print(f"pages             {sum(len(run.pages) for run in runs)}, skipped {_skipped(runs)}")


class _HostilePages:
    """The ports of a run whose pages are not fetched, and take as long to read as a page may."""

    identity = "hostile pages"

    def __init__(self, count: int) -> None:
        self._count = count

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        rows = (
            Result(url=f"https://hostile{n}.example/", title="", snippet="", rank=n + 1, engines=())
            for n in range(self._count)
        )
        return SearchReply(backend="bench", results=tuple(rows))

    async def fetch(self, url: str, knobs: ReadKnobs) -> Document:
        body = f"<title>{url}</title>".encode() + b"<p style='color:white'>x</p>" * 29_000
        return Document(url=url, status=200, media_type="text/html", charset="utf-8", body=body)


async def measure_beside_hostile_pages(world: World, count: int, at_once: int) -> None:
    """How much longer ordinary runs, `at_once` of them, take beside one whose pages hold the workers."""
    seed = world.plan.seed
    async with warmed(
        world.search_url, world.models_url, warm_run=seed.runs - 1, extractor="accurate"
    ) as engine:
        asked = knobs(seed.queries, seed.results)
        pages = _HostilePages(count)
        hostile_knobs = knobs(1, count)
        ports = await engine.ports(hostile_knobs)
        hostile_ports = replace(ports, search=pages, web=pages.fetch, chat=None)
        alone: list[Run] = []
        beside: list[Run] = []

        async def ordinary(first: int) -> list[Run]:
            numbers = range(first, first + at_once)
            return await asyncio.gather(*(research(question(one), asked, ports) for one in numbers))

        for first in range(0, seed.runs - 1, 2 * at_once):
            alone += await ordinary(first)
            fetched = asyncio.Event()

            def listen(record: Record, _run: Run, fetched: asyncio.Event = fetched) -> None:
                if isinstance(record.event, Fetched):
                    fetched.set()

            hostile = asyncio.create_task(research("hostile", hostile_knobs, hostile_ports, listen))
            await fetched.wait()
            beside += await ordinary(first + at_once)
            await hostile
    for name, runs in (("alone", alone), (f"beside {count} hostile pages", beside)):
        took = sorted(run.seconds for run in runs)
        read = [len(run.pages) for run in runs]
        print(
            f"{name:24} median {median(took):.2f} s, slowest {took[-1]:.2f} s, "
            f"pages read {min(read)} to {max(read)}, {sum(map(_stand_ins, runs))} runs with snippets only for a page"
        )
    ratio = median(run.seconds for run in beside) / median(run.seconds for run in alone)
    print(f"{'ratio of the medians':24} {ratio:.2f}")


def _stand_ins(run: Run) -> bool:
    """Whether the run had no pages and went on with snippets."""
    return any(page.snippet_only for page in run.pages.values())


def _ideals(plan: Plan, *, cut: bool) -> list[float]:
    """When each run would be done alone on a perfect client: its context and the model's answer."""
    first = plan.first_token
    return [
        first
        + (
            plan.ideal_cut(PAGE_TIMEOUT, _EXTRACTION, percent=ENOUGH, idle=QUIET, run=run)
            if cut
            else plan.ideal(PAGE_TIMEOUT, _EXTRACTION, run)
        )
        for run in range(plan.seed.runs - 1)
    ]


def _skipped(runs: list[Run]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for run in runs:
        for skip in run.skips.values():
            counts[skip.reason.value] = counts.get(skip.reason.value, 0) + 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, help="at the same moment (default 50, with --hostile 1)")
    parser.add_argument("--case", default="3x5", help="queries x results")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--extractor", choices=("accurate", "fast"), default="accurate")
    parser.add_argument("--cut", action="store_true", help="with the early cut")
    parser.add_argument(
        "--hostile", type=int, default=0, metavar="PAGES", help="beside so many hostile pages"
    )
    parser.add_argument("--zero", action="store_true", help="with no latency at all: only the CPU counts")
    args = parser.parse_args()
    if args.hostile:
        at_once = args.runs or 1
        pairs = 3 if at_once == 1 else 1
        with World(Seed(args.seed, 3, 5, real=not args.zero, runs=2 * pairs * at_once + 1)) as world:
            run_async(measure_beside_hostile_pages(world, args.hostile, at_once))
        return
    queries, results = map(int, args.case.split("x"))
    with World(Seed(args.seed, queries, results, real=not args.zero, runs=(args.runs or 50) + 1)) as world:
        run_async(measure(world, cut=args.cut, extractor=args.extractor))


if __name__ == "__main__":
    main()
