"""How far the Ask page jumps, in Chromium: `python -m bench.layout_shift`.

A visit begins with the first paint of the front page, waits until the recorded run has ended or asks at once, and ends
with the answer. All shifts of a visit are added, which is at least what browsers call its cumulative layout shift; those
within half a second of a key press are left out, as browsers do.
"""

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, expect, sync_playwright

from bench.browsing import PATIENCE, connected
from bench.schedule import Seed, question
from bench.world import World
from tests.browser.conftest import CHROMIUM, FLAGS, QUESTION, App
from tests.browser.server import Site, serving

WINDOWS = {"desk": (1440, 900), "half a screen": (1024, 768), "phone": (390, 844)}
LEAST = 0.001
"""Shifts that are told with `--tell`."""
WATCH = """
window.shifts = [];
new PerformanceObserver((list) => {
  const name = (node) => (node?.closest?.('[class*="st-key-"]') ?? node)?.className ?? node?.nodeName ?? 'gone';
  for (const entry of list.getEntries()) {
    if (entry.hadRecentInput) continue;
    window.shifts.push([entry.value, Math.round(entry.startTime), entry.sources.map(({ node }) => String(name(node)).slice(0, 60))]);
  }
}).observe({ type: 'layout-shift', buffered: true });
"""
"""Notes the shifts of a page in the page itself, from its first paint on."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tell", action="store_true", help="also print what moved")
    parser.add_argument("--visits", type=int, default=1, help="visits in each window")
    options = parser.parse_args()
    expect.set_options(timeout=PATIENCE)
    seed = Seed(1, 3, 5, pace=2)
    print("| visit | " + " | ".join(WINDOWS) + " |\n|---|" + "---|" * len(WINDOWS))
    with (
        World(seed) as world,
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as other,
        serving(Path(one)) as offline,
        connected(world, Path(other)) as online,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, site, asked in (
            ("the recorded run, played to its end", offline, ""),
            ("a question to the built-in articles", offline, QUESTION),
            ("a question to the web, its answer streamed", online, question(0)),
        ):
            figures = []
            for size in WINDOWS.values():
                shifts = [_visit(browser, site, size, asked, options.tell) for _ in range(options.visits)]
                figures.append(f"{max(shifts):.3f}".removeprefix("0"))
            print(f"| {name} | {' | '.join(figures)} |", flush=True)
        browser.close()


def _visit(browser: Browser, site: Site, size: tuple[int, int], asked: str, tell: bool) -> float:
    """Return the sum of the shifts of a visit that asks, or else waits for the end of the recorded run."""
    width, height = size
    context = browser.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(PATIENCE)
    context.add_init_script(WATCH)
    app = App(context.new_page(), site)
    app.open("/")
    if asked:
        app.field("question").fill(asked)
        app.field("question").press("Enter")
        app.finished()
    else:
        stage = app.page.get_by_role("region", name="A recorded run")
        expect(stage.get_by_role("button", name="Play the recorded run again")).to_be_attached()
    app.at_rest()
    app.drawn()
    shifts = app.page.evaluate("window.shifts")
    context.close()
    if tell:
        for value, at, moved in shifts:
            if value >= LEAST:
                print(f"  {value:.4f} at {at} ms: {'; '.join(moved)}")
    return sum(value for value, _, _ in shifts)


if __name__ == "__main__":
    main()
