"""Question to context and answer, against the ideal schedule and against a barrier script.

    python -m bench.pipeline                     # 3x5, 5x10 and 10x20, real and zero latency, three seeds
    python -m bench.pipeline --cut               # with the early cut instead of full coverage
    python -m bench.pipeline --shipped --alone   # also with the embedder that is shipped, beside the hosted one
    python -m bench.pipeline --extractor fast --cases 10x20 --seeds 5

Every run has a fresh process. Its clock and its CPU count from after a small run that imports and connects
everything, as in a server that has answered before.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from bench.schedule import ENOUGH, PAGE_TIMEOUT, QUIET, WARM_TIMEOUT, Plan, Seed, question
from bench.world import World


@dataclass(frozen=True, slots=True)
class Task:
    """One run in one fresh process."""

    client: str
    """openquery or barrier"""
    search_url: str
    models_url: str
    queries: int
    results: int
    extractor: str = "accurate"
    cut: bool = False
    shipped: bool = False
    """Embed with the model that is shipped, on this machine, instead of with the world's server."""


@dataclass(frozen=True, slots=True)
class Measured:
    context: float
    """Seconds from the question to the ranked context."""
    first: float
    """Seconds from the context to the first token of the answer."""
    cpu: float
    """Seconds, to the first token of the answer."""
    memory: float
    """Megabytes, peak, of the process and its workers."""
    pages: int
    extraction: float = 0.0
    """CPU seconds for one page, in the middle."""


def measured(task: Task) -> Measured:
    """Run the task in a process of its own."""
    command = [sys.executable, "-m", "bench.pipeline", "--task", json.dumps(asdict(task))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


# --- inside the fresh process -----------------------------------------------------------------------------


def _barrier(task: Task) -> Measured:
    from bench.barrier import Barrier
    from bench.measure import cpu_seconds, peak_megabytes

    Barrier(task.search_url, task.models_url, 2, 1, WARM_TIMEOUT).ask(question(1))
    before = cpu_seconds()
    script = Barrier(task.search_url, task.models_url, task.queries, task.results, PAGE_TIMEOUT)
    context, first, pages = script.ask(question(0))
    return Measured(context, first - context, cpu_seconds() - before, peak_megabytes(), pages)


def _openquery(task: Task) -> Measured:
    from core.runtime.event_loop import run_async

    return run_async(_researched(task))


async def _researched(task: Task) -> Measured:
    from bench.measure import cpu_seconds, peak_megabytes
    from bench.openquery import knobs, warmed
    from core import research
    from core.run.events import Ranked, Record, TokensWritten
    from core.run.state import Run, RunStatus

    at: dict[type, float] = {}
    cpu: list[float] = []

    def listen(record: Record, _: Run) -> None:
        at.setdefault(type(record.event), record.at)
        if isinstance(record.event, TokensWritten) and not cpu:
            cpu.append(cpu_seconds())

    async with warmed(
        task.search_url, task.models_url, warm_run=1, extractor=task.extractor, shipped=task.shipped
    ) as engine:
        asked = knobs(task.queries, task.results, extractor=task.extractor, cut=task.cut)
        ports = await engine.ports(asked)
        before = cpu_seconds()
        run = await research(question(0), asked, ports, listen)
        memory = peak_megabytes()
    if run.status is not RunStatus.DONE or any(page.snippet_only for page in run.pages.values()):
        raise RuntimeError(f"the run ended as {run.status}: {run.error} {run.notes}")
    extraction = median(page.article.seconds for page in run.pages.values())
    context = at[Ranked]
    return Measured(context, at[TokensWritten] - context, cpu[0] - before, memory, len(run.pages), extraction)


# --- in the process that compares -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compared:
    """One seed: OpenQuery, the ideal and the barrier script in the same world."""

    own: Measured
    other: Measured | None
    shipped: Measured | None
    """OpenQuery with the shipped embedder."""
    ideal: float
    first_token: float
    """The model's own."""


def compared(seed: Seed, args: argparse.Namespace) -> Compared:
    with World(seed, args.pages) as world:
        task = Task("openquery", world.search_url, world.models_url, seed.queries, seed.results)
        task = replace(task, extractor=args.extractor, cut=args.cut)
        own = measured(task)
        other = None if args.alone else measured(replace(task, client="barrier"))
        shipped = measured(replace(task, shipped=True)) if args.shipped else None
        return Compared(own, other, shipped, ideal(world.plan, own, cut=args.cut), world.plan.first_token)


def ideal(plan: Plan, own: Measured, *, cut: bool) -> float:
    """The ideal schedule, or the time in which all cores extract all pages where that is longer."""
    if cut:
        schedule = plan.ideal_cut(PAGE_TIMEOUT, own.extraction, percent=ENOUGH, idle=QUIET)
    else:
        schedule = plan.ideal(PAGE_TIMEOUT, own.extraction)
    return max(schedule, own.extraction * own.pages / (os.cpu_count() or 1))


def row(name: str, seeds: Iterable[Compared]) -> str:
    """Medians over the seeds, of the ratios too."""
    seeds = list(seeds)
    own = [seed.own for seed in seeds]
    pairs = [(seed.own, seed.other) for seed in seeds if seed.other]

    def over(part: str) -> str:
        return f"{median(getattr(a, part) / getattr(b, part) for a, b in pairs):.2f}" if pairs else "-"

    local = [(seed.shipped, seed.own) for seed in seeds if seed.shipped]
    late = median(seed.own.first - seed.first_token for seed in seeds)
    ratio = median(seed.own.context / seed.ideal for seed in seeds)
    total = [(seed.own.context + seed.own.first, seed.ideal + seed.first_token) for seed in seeds]
    cells = [
        name,
        f"{median(m.context for m in own):.2f}",
        f"**{ratio:.3f}**",
        over("context"),
        f"{median(a for a, _ in total):.2f}",
        f"{median(a / b for a, b in total):.3f}",
        f"{1000 * late:.0f} ms",
        f"{median(m.cpu for m in own):.2f}",
        f"{median(m.cpu / (m.extraction * m.pages) for m in own):.2f}",
        over("cpu"),
        f"{median(m.memory for m in own):.0f}",
        over("memory"),
        f"{median(m.pages for m in own):.0f}",
        f"{median(a.context for a, _ in local):.2f}" if local else "-",
        f"**{median(a.context / b.context for a, b in local):.2f}**" if local else "-",
        f"**{median(a.cpu / b.cpu for a, b in local):.2f}**" if local else "-",
        f"{median(a.memory for a, _ in local):.0f}" if local else "-",
    ]
    return f"| {' | '.join(cells)} |"


HEAD = """\
| case | context s | / ideal | / barrier | first token s | / ideal | late by | CPU s | / extraction | / barrier | memory MB | / barrier | pages | shipped: context s | / hosted | CPU / hosted | memory MB |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", default="3x5,5x10,10x20", help="queries x results, separated by commas")
    parser.add_argument("--latency", default="real,zero", help="real, zero or both")
    parser.add_argument("--seeds", type=int, default=3, help="how many worlds each")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--pages", type=Path, help="a folder of HTML files to serve instead of made ones")
    parser.add_argument("--extractor", choices=("accurate", "fast"), default="accurate")
    parser.add_argument(
        "--cut", action="store_true", help="with the early cut, against the ideal by its rule"
    )
    parser.add_argument("--alone", action="store_true", help="without the barrier script")
    parser.add_argument("--shipped", action="store_true", help="also with the shipped embedder")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task:
        task = Task(**json.loads(args.task))
        result = _barrier(task) if task.client == "barrier" else _openquery(task)
        print(json.dumps(asdict(result)))
        return
    print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, medians of {args.seeds} seeds\n\n{HEAD}")
    for latency in args.latency.split(","):
        for case in args.cases.split(","):
            queries, results = map(int, case.split("x"))
            numbers = range(args.first_seed, args.first_seed + args.seeds)
            seeds = (
                compared(Seed(number, queries, results, real=latency == "real", runs=2), args)
                for number in numbers
            )
            print(row(f"{case} {latency}", seeds), flush=True)


if __name__ == "__main__":
    main()
