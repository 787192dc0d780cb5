"""What a large run costs on the Research page, against a small one, in Chromium: `python -m bench.page_growth`.

One server has a run of about 60 passages and one of about 3,250. The same keys are pressed on both pages in turn,
so that the load of the machine falls on both, and medians are compared.
"""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Locator, WebSocket, expect, sync_playwright

from bench.browsing import PATIENCE, connected, made, new_page, pressed
from bench.openquery import knobs
from bench.schedule import Seed, question
from bench.world import World
from tests.browser.conftest import CHROMIUM, FLAGS, App

QUERIES, RESULTS = 10, 11
"""Of the large run: about 30 passages a page."""
SMALL = 1, 2
"""Queries and results of the small run."""
CAPTION = ".st-key-passage_caption"
COUNT = '.oq-step[data-phase="chunk"] .count'


@dataclass
class Visit:
    """A page on one of the runs, and the bytes that its server sent it."""

    app: App
    passages: int = 0
    received: int = 0
    took: dict[str, list[tuple[float, float, float]]] = field(default_factory=dict)
    """By turn: milliseconds to the new caption and to the page at rest, and kB received."""

    def watch(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._count)

    def _count(self, payload: str | bytes) -> None:
        self.received += len(payload)


@dataclass(frozen=True, slots=True)
class Turn:
    """Keys that are pressed one after the other on a control and what is typed into it before."""

    name: str
    keys: tuple[str, ...]
    slider: str = ""
    typed: tuple[str, ...] = ()
    times: int = 12

    def control(self, app: App) -> Locator:
        return app.slider(self.slider) if self.slider else app.field("filter_words")


TURNS = (
    Turn("top-k", ("ArrowLeft", "ArrowRight"), slider="rank_top_k"),
    Turn("filter by a word", ("Enter", "Enter"), typed=("bridge", "river")),
    Turn("passage size, new", ("ArrowLeft",), slider="chunk_size", times=2),
    Turn("passage size, seen before", ("ArrowRight", "ArrowLeft"), slider="chunk_size", times=6),
)


@contextmanager
def visits(browser: Browser) -> Iterator[list[Visit]]:
    """A page on the small run, and one on the large run."""
    seed = Seed(1, QUERIES, RESULTS, real=False, runs=2, repeats=0)
    with World(seed) as world, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asked = (
            (question(1), knobs(*SMALL, extractor="fast")),
            (question(0), knobs(QUERIES, RESULTS, extractor="fast")),
        )
        runs = [made(world, folder, *one) for one in asked]
        with connected(world, folder) as site:
            found = []
            for run in runs:
                visit = Visit(App(new_page(browser), site))
                visit.app.page.on("websocket", visit.watch)
                visit.app.page.goto(f"{site.url}/?run={run}")
                expect(visit.app.keyed("map").locator(".scatterlayer").first).to_be_visible()
                expect(visit.app.keyed("passages").get_by_test_id("data-grid-canvas").first).to_be_visible()
                visit.app.at_rest()
                visit.passages = int(visit.app.page.locator(COUNT).inner_text().replace(",", ""))
                found.append(visit)
            yield found
            for visit in found:
                visit.app.page.context.close()


def take(visit: Visit, turn: Turn, number: int) -> None:
    control = turn.control(visit.app)
    if turn.typed:
        control.fill(turn.typed[number % len(turn.typed)])
    before = visit.received
    seen, rest = pressed(visit.app, control, turn.keys[number % len(turn.keys)], CAPTION)
    visit.took.setdefault(turn.name, []).append((seen, rest, (visit.received - before) / 1000))


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        with visits(browser) as both:
            small, large = both
            print(f"{small.passages:,} and {large.passages:,} passages, and the ratio of the two\n")
            print("| changed | caption: ms | | ratio | page at rest: ms | | ratio | received: kB | |")
            print("|---|---|---|---|---|---|---|---|---|")
            for turn in TURNS:
                for number in range(turn.times):
                    for visit in both:
                        take(visit, turn, number)
                print(f"| {turn.name} | {_compared(turn, small, large)} |", flush=True)
        browser.close()


def _compared(turn: Turn, small: Visit, large: Visit) -> str:
    parts = []
    for number in range(3):
        few, many = (median(one[number] for one in visit.took[turn.name]) for visit in (small, large))
        parts += [f"{few:.0f}", f"{many:.0f}"]
        if number < 2:
            parts.append(f"{many / few:.2f}")
    return " | ".join(parts)


if __name__ == "__main__":
    main()
