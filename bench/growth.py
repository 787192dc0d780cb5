"""Time to context against the number of pages, from 5 to 500: a table, and docs/images/growth.svg.

    python -m bench.growth

It should grow with the slowest page, not with the number of pages, until a core is full. The ideal schedule
and the time in which all cores extract all pages are drawn next to it.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import median

from bench.pipeline import Task, measured
from bench.schedule import PAGE_TIMEOUT, Seed
from bench.world import World

CASES = ((1, 5), (2, 5), (4, 5), (5, 10), (10, 10), (10, 20), (10, 35), (10, 50))
"""Queries and results of each step."""
IMAGE = Path("docs/images/growth.svg")


@dataclass(frozen=True, slots=True)
class Step:
    pages: int
    context: float
    ideal: float
    extraction: float
    """Seconds in which all cores together extract all pages."""


def step(queries: int, results: int, seeds: int, extractor: str) -> Step:
    """Medians over the seeds."""
    found: list[Step] = []
    for number in range(1, seeds + 1):
        with World(Seed(number, queries, results, runs=2, repeats=0)) as world:
            task = Task("openquery", world.search_url, world.models_url, queries, results, extractor)
            own = measured(task)
            work = own.extraction * own.pages / (os.cpu_count() or 1)
            ideal = world.plan.ideal(PAGE_TIMEOUT, own.extraction)
            found.append(Step(queries * results, own.context, ideal, work))
    return Step(
        queries * results,
        median(one.context for one in found),
        median(one.ideal for one in found),
        median(one.extraction for one in found),
    )


def svg(steps: Sequence[Step]) -> str:
    """A line chart: pages on a logarithmic axis, seconds on a linear one. It is legible on light and dark."""
    width, height, left, bottom, top, right = 760, 400, 56, 48, 24, 150
    most = 1.1 * max(max(step.context, step.ideal, step.extraction) for step in steps)
    low, high = log(steps[0].pages), log(steps[-1].pages)

    def x(pages: int) -> float:
        return left + (log(pages) - low) / (high - low) * (width - left - right)

    def y(seconds: float) -> float:
        return height - bottom - seconds / most * (height - bottom - top)

    def line(colour: str, dash: str, values: Sequence[float]) -> str:
        points = [(x(step.pages), y(value)) for step, value in zip(steps, values, strict=True)]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>{dots}'

    def labels(ends: Sequence[tuple[str, str, float]]) -> Iterator[str]:
        """Next to the lines' ends, from the bottom up, and never on top of each other."""
        lowest = float("inf")
        for name, colour, value in sorted(ends, key=lambda end: end[2]):
            lowest = min(y(value) + 4, lowest - 16)
            yield f'<text x="{width - right + 10}" y="{lowest:.1f}" fill="{colour}">{name}</text>'

    rules = "".join(
        f'<line x1="{left}" x2="{width - right}" y1="{y(second):.1f}" y2="{y(second):.1f}" stroke="#8886"/>'
        f'<text x="{left - 8}" y="{y(second) + 4:.1f}" text-anchor="end">{second}</text>'
        for second in range(0, int(most) + 1, 1 if most < 9 else 2)
    )
    marks = "".join(
        f'<text x="{x(step.pages):.1f}" y="{height - bottom + 20}" text-anchor="middle">{step.pages}</text>'
        for step in steps
    )
    drawn = (
        ("OpenQuery", "#2f7d6b", "", [step.context for step in steps]),
        ("ideal schedule", "#8a6fd1", "6 4", [step.ideal for step in steps]),
        ("extraction, all cores", "#c07a2c", "2 4", [step.extraction for step in steps]),
    )
    lines = "".join(line(colour, dash, values) for _, colour, dash, values in drawn)
    names = "".join(labels([(name, colour, values[-1]) for name, colour, _, values in drawn]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="13" fill="#777" role="img" aria-label="Seconds to context against pages">'
        f"{rules}{marks}{lines}{names}"
        f'<text x="{(left + width - right) / 2}" y="{height - 8}" text-anchor="middle">pages</text>'
        f'<text x="8" y="14">seconds to context</text></svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--extractor", choices=("accurate", "fast"), default="accurate")
    parser.add_argument("--image", type=Path, default=IMAGE)
    args = parser.parse_args()
    print("| pages | context s | ideal s | ratio | extraction on all cores s |\n|---|---|---|---|---|")
    steps: list[Step] = []
    for queries, results in CASES:
        one = step(queries, results, args.seeds, args.extractor)
        steps.append(one)
        print(
            f"| {one.pages} | {one.context:.2f} | {one.ideal:.2f} | {one.context / one.ideal:.3f} "
            f"| {one.extraction:.2f} |",
            flush=True,
        )
    args.image.parent.mkdir(parents=True, exist_ok=True)
    args.image.write_text(svg(steps))


if __name__ == "__main__":
    main()
