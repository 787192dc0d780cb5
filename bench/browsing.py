"""From a key press on a slider to the new ranking on the screen, in Chromium: `python -m bench.tuning --browser`.

What moves of a slider cost a server: `python -m bench.movers`.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from bench.openquery import knobs
from bench.schedule import Seed, question
from bench.world import CHAT, EMBEDDER, World
from core import Knobs, Settings
from core.config.settings import variable
from core.run.state import RunStatus
from core.runtime.registry import RunRegistry
from tests.browser.conftest import CHROMIUM, FLAGS, App
from tests.browser.server import Site, serving

VIEW = {"width": 1440, "height": 900}
PATIENCE = 120_000
"""Milliseconds."""

_WATCH = """
shown => {
  const read = () => document.querySelector(shown)?.innerText;
  const busy = () => document.querySelector('[data-testid=stApp]').dataset.testScriptState !== 'notRunning'
    || document.querySelector('.oq-tuned.busy');
  const before = read();
  let began, seen;
  document.addEventListener('keydown', () => { began = performance.now(); }, { once: true, capture: true });
  const started = performance.now();
  window.turned = new Promise((done, failed) => {
    const look = () => {
      if (began !== undefined && seen === undefined && read() && read() !== before) seen = performance.now();
      if (seen !== undefined && !busy()) done([seen - began, performance.now() - began]);
      else if (performance.now() - started > 60000) failed(new Error(`${shown} stayed as it was: ${before}`));
      else requestAnimationFrame(look);
    };
    look();
  });
}
"""
"""Looks once a frame, in the page itself, so that neither the driver nor its wire is measured."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A slider, the keys that are pressed on it one after the other, and where the page shows the outcome."""

    name: str
    knob: str
    keys: tuple[str, ...]
    phase: str


TURNS = (
    Turn("top-k", "rank_top_k", ("ArrowRight", "ArrowLeft") * 6, "rank"),
    Turn("size, new", "chunk_size", ("ArrowLeft", "ArrowLeft"), "chunk"),
    Turn("size, seen before", "chunk_size", ("ArrowRight", "ArrowLeft") * 2, "chunk"),
)


def measure(passages: Sequence[int], queries: int, per_page: int) -> None:
    """Print a table for the demo library and for runs of about so many passages."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        with _demo(browser) as (page, site):
            _table("the demo library", page, site)
        for wanted in passages:
            results = max(1, round(wanted / per_page / queries))
            with _large(browser, queries, results) as (page, site):
                _table(f"about {wanted:,} passages", page, site)
        browser.close()


@contextmanager
def _demo(browser: Browser) -> Iterator[tuple[Page, Site]]:
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as site:
        page = new_page(browser)
        app = App(page, site)
        app.ask()
        app.finished()
        yield page, site
        page.context.close()


@contextmanager
def _large(browser: Browser, queries: int, results: int) -> Iterator[tuple[Page, Site]]:
    """A run of the loopback world, made here and opened in a server that finds it in its data folder."""
    with World(Seed(1, queries, results, real=False, runs=2, repeats=0)) as world, _folder() as folder:
        run_id = made(world, folder, question(0), knobs(queries, results, extractor="fast"))
        with connected(world, folder) as site:
            page = new_page(browser)
            page.goto(f"{site.url}/?run={run_id}")
            yield page, site
            page.context.close()


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _wired(world: World) -> dict[str, str]:
    return {
        "searxng_url": world.search_url,
        "base_url": world.models_url,
        "chat_model": CHAT,
        "embedding_model": EMBEDDER,
        "embedding_base_url": world.models_url,
        "fetch_allowlist": "127.0.0.0/8",
    }


def connected(world: World, folder: Path, **settings: str) -> AbstractContextManager[Site]:
    """A server that uses this world, with its data in the folder. `settings` are its own, by name."""
    wired = _wired(world) | settings
    variables = {variable(Settings.model_fields[name]): value for name, value in wired.items()}
    return serving(folder, **variables)


def made(world: World, folder: Path, asked: str, wanted: Knobs) -> str:
    """The id of a run over this world, made in this process, which a server finds in the folder."""
    runs = RunRegistry(Settings.read(data=folder / "data", **_wired(world)))
    try:
        run_id = runs.start(asked, wanted)
        while (run := runs.get(run_id)) is not None and run.live:
            time.sleep(0.1)
        if run is None or run.status is not RunStatus.DONE:
            raise RuntimeError(f"the run ended as {run and run.status}: {run and run.error}")
        return run_id
    finally:
        runs.close()


def new_page(browser: Browser) -> Page:
    context = browser.new_context(viewport=VIEW, reduced_motion="reduce")  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE)
    return context.new_page()


def _table(name: str, page: Page, site: Site) -> None:
    app = App(page, site)
    app.at_rest()
    expect(app.step("rank").locator(".count")).not_to_be_empty()
    told = app.step("chunk").locator(".count").inner_text()
    run_id = parse_qs(urlsplit(page.url).query)["run"][0]
    print(f"\n{name}: {told} passages, run {run_id[:6]}…\n")
    print("| turned | number shown: first ms | ms | page at rest: ms |")
    print("|---|---|---|---|")
    for turn in TURNS:
        took = [_pressed(app, turn, key) for key in turn.keys]
        shown, rest = [ms for ms, _ in took], [ms for _, ms in took]
        print(f"| {turn.name} | {shown[0]:.0f} | {median(shown):.0f} | {median(rest):.0f} |", flush=True)


def _pressed(app: App, turn: Turn, key: str) -> tuple[float, float]:
    """Milliseconds from the key to the changed number, and to the page at rest."""
    return pressed(app, app.slider(turn.knob), key, f'.oq-step[data-phase="{turn.phase}"] .count')


def pressed(app: App, control: Locator, key: str, shown: str) -> tuple[float, float]:
    """Press a key on a control: milliseconds to another text of the element `shown`, and to the page at rest."""
    app.at_rest()
    app.page.evaluate(_WATCH, shown)
    control.press(key)
    seen, rest = app.page.evaluate("window.turned")
    return seen, rest
