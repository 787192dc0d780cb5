"""The bench over a run of ten thousand passages: every view draws, samples where it must, and says so."""

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from core.config.knobs import Knobs
from core.run.state import Run
from tests.analysis.sample import WIDTH, run_of
from tests.browser.axe import findings
from tests.browser.page_objects import App
from tests.browser.server import Site
from tests.seeding import store_finished
from tests.services.openai_server import EMBEDDER, FakeOpenAI

PAGES, SENTENCES = 50, 210
"""Each sentence becomes a passage."""
WORDS = [
    "boat",
    "river",
    "lamp",
    "cloud",
    "mill",
    "stone",
    "paper",
    "crown",
    "evening",
    "bridge",
    "water",
    "wheel",
    "pond",
    "gate",
    "harbour",
]


def stored(folder: Path, embedder: str) -> Run:
    """A finished run of so many passages, written as a run under way writes itself."""
    chance = random.Random(7)
    texts = {
        f"https://site{page}.example/": "\n\n".join(
            f"Sentence {number} on page {page} tells of the {' '.join(chance.choices(WORDS, k=10))}."
            for number in range(SENTENCES)
        )
        for page in range(PAGES)
    }
    knobs = Knobs.parse({"search": {"results": PAGES}, "chunk": {"size": 130}})
    run = run_of(texts, answer="A boat is on the river [1]. Lamps are made of paper [2].", knobs=knobs)
    assert run.index is not None
    return store_finished(folder, replace(run, id="many", index=replace(run.index, embedder=embedder)))


@pytest.fixture
def passages(model_site: Site, model: FakeOpenAI) -> Iterator[int]:
    """How many passages the run has, whose vectors are of the width that the server's embedder has meanwhile."""
    width, model.width = model.width, WIDTH
    host = model.base_url.removeprefix("http://").removesuffix("/v1")
    run = stored(model_site.folder, f"{EMBEDDER}@{host}")
    assert run.index is not None
    yield len(run.index.passages)
    model.width = width


@pytest.mark.thorough
def test_every_view_draws_ten_thousand_passages_or_says_how_many(passages: int, model_app: App) -> None:
    app = model_app
    assert passages >= 10_000
    views(app, passages)
    app.open("/explain?view=what-if&run=many&a=own&b=rank.strategy:bm25")
    expect(app.own("ranks")).to_be_visible()
    app.keyed("measures").locator("summary").click()
    shown = app.page.locator('[data-testid="stMainBlockContainer"]')
    expect(shown).to_contain_text(f"{passages:,} passages, 6 in the context; the first 1,000 are listed")
    expect(app.keyed("rank_changes_pages")).to_contain_text(f"1–100 of {passages:,} rows")
    app.at_rest()
    assert findings(app.page, "Compare", ("empty-heading", "heading-order", "empty-table-header")) == ()


def views(app: App, passages: int) -> None:
    page = app.page
    app.open("/explain?run=many&view=attrition")
    expect(page.locator(".oq-attrition")).to_be_visible()

    app.explain("Attribution")
    expect(page.locator(".oq-matrix td a").first).to_be_visible()
    app.explain("Scores")
    expect(page.locator(".st-key-null_distribution .scatterlayer").first).to_be_visible()
    app.explain("Map")
    expect(page.locator(".st-key-embedding_map .scatterlayer").first).to_be_visible()
    expect(page.locator(".st-key-explain_view")).to_contain_text(
        re.compile(rf"[\d,]+ of {passages:,} passages drawn")
    )
    app.explain("Sources")
    expect(page.locator(".st-key-explain_view .oq-verdict").first).to_contain_text(f"{PAGES} pages")
    expect(page.locator(".st-key-duplicate_limit_head")).to_be_visible()
    app.explain("Extraction")
    expect(page.locator(".st-key-explain_view")).to_contain_text("This page is not cached")
