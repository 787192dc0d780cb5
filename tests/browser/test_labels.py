"""Labelling by keys: figures follow every label and every knob, and a label stays when pages are cut anew."""

import re

import pytest
from playwright.sync_api import expect

from core.run.events import Record
from tests.browser.axe import findings
from tests.browser.page_objects import QUESTION, App
from tests.seeding import store_copy

BOTH = re.compile(
    r"nDCG@10 of passages\s*[01]\.\d+( to [01]\.\d+)? the answer's ranking\s*[+-]\d\.\d+( to [+-]\d\.\d+)? "
    r"(better than|worse than|difference, open)"
)


@pytest.fixture
def labelling(app: App, demo_records: tuple[Record, ...], request: pytest.FixtureRequest) -> App:
    """A run that has ended, under a question of the test's own, since labels belong to the question."""
    app.open(f"/?run={store_copy(app.site.folder, demo_records, f'{QUESTION} {request.node.name}')}")
    app.finished()
    return app


@pytest.mark.thorough
def test_passages_and_rankings_are_labelled_by_the_same_keys(labelling: App) -> None:
    """From labels of one run and its tuned ranking to the Evaluate page, where passages come one after the other."""
    figures, rank = labelling.keyed("labels"), labelling.keyed("reader_row_head")
    for number, key in enumerate("13", 1):
        labelling.button("label_next").first.click() if number == 1 else labelling.page.keyboard.press("n")
        expect(rank).to_contain_text(f"Rank {number}")
        expect(labelling.keyed("grades")).to_be_visible()
        labelling.page.keyboard.press(key)
        expect(figures).to_contain_text(f"{number} of 10 labelled")
    labelling.knob("rank_strategy").get_by_role("radio", name="BM25").click()
    expect(figures).to_contain_text(BOTH)
    labelling.button("label_all").first.click()
    reader = labelling.keyed("reader_verdict")
    article = reader.locator(".oq-article")
    expect(article).to_be_focused()

    def marks() -> str:
        """Selects the reader by its passage and number: a passage can be in the rankings of two questions."""
        return "".join(f'[{name}="{article.get_attribute(name)}"]' for name in ("data-place", "aria-label"))

    seen = [marks()]
    for key in "312":
        labelling.page.keyboard.press(key)
        # Of another question, the reader of the one before can be there a moment longer.
        expect(reader.locator(f".oq-article:not({seen[-1]})")).to_be_focused()
        expect(article).to_have_count(1)
        seen.append(marks())
    assert len(set(seen)) == 4, "each label brings the next passage"
    expect(labelling.keyed("verdict_question").locator(".effect")).to_contain_text(
        re.compile(r"[01]\.\d{3}–[01]\.\d{3}\s*→\s*[01]\.\d{3}–[01]\.\d{3}")
    )
    labelling.page.keyboard.press("u")
    expect(reader.locator(f".oq-article{seen[2]}")).to_be_focused()
    labelling.button("label_undo").click()
    expect(reader.locator(f".oq-article{seen[1]}")).to_be_visible()
    labelling.page.keyboard.press("s")
    expect(reader.locator(f".oq-article{seen[2]}")).to_be_visible()
    assert findings(labelling.page, "two rankings") == ()
    labelling.theme("dark")
    labelling.page.set_viewport_size({"width": 390, "height": 844})
    labelling.until("document.documentElement.scrollWidth <= innerWidth")
    assert findings(labelling.page, "two rankings on a phone in the dark") == ()
