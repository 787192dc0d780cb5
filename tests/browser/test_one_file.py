"""The run in one file, in Chromium: it ranks as the server does, asks nothing of a network, and tells when it was changed."""

import random
from dataclasses import asdict
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from core.config.knobs import RankKnobs
from core.export.ranking_part import ranking_part
from core.run.state import Run
from core.stages.rank import rank
from tests.export.synthetic_runs import random_knobs, synthetic_run

SIZES = (60, 500, 2400)
SETTINGS = 500
SCRIPT = Path(__file__).parents[2] / "core" / "export" / "assets" / "ranking.js"

RANK_ALL = """
([part, settings]) => {
  const data = rankingData(part);
  return settings.map(knobs => { const { order, context, strategy } = ranked(data, knobs); return { order, context, strategy }; });
}
"""


@pytest.fixture(scope="module", params=SIZES)
def run(request: pytest.FixtureRequest) -> Run:
    return synthetic_run(request.param)


@pytest.fixture
def page(chromium: Browser) -> Page:
    page = chromium.new_page()
    page.add_script_tag(content=SCRIPT.read_text("utf-8"))
    return page


def differences(page: Page, run: Run, settings: list[RankKnobs], compared: tuple[str, ...]) -> int:
    """Under how many settings the file and the server differ in one of what is compared."""
    assert run.index is not None
    ranked = page.evaluate(RANK_ALL, [ranking_part(run), [asdict(knobs) for knobs in settings]])
    count = 0
    for knobs, in_file in zip(settings, ranked, strict=True):
        ranking = rank(run.question, run.index, knobs, run.pages)
        server = {
            "order": ranking.order.tolist(),
            "context": list(ranking.context),
            "strategy": ranking.strategy,
        }
        count += any(in_file[name] != server[name] for name in compared)
    return count


def test_the_file_ranks_as_the_server_does_to_the_last_rank(page: Page, run: Run) -> None:
    dice = random.Random(1)
    settings = [random_knobs(run, dice) for _ in range(SETTINGS)]
    assert differences(page, run, settings, ("order", "context", "strategy")) == 0


def test_with_diversity_the_context_is_the_servers_in_98_of_100_settings(page: Page, run: Run) -> None:
    dice = random.Random(2)
    settings = [random_knobs(run, dice, diversity=True) for _ in range(SETTINGS)]
    assert differences(page, run, settings, ("context", "strategy")) <= 0.02 * SETTINGS
