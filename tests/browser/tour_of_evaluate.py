"""The walk of docs/tour_of_evaluate.md: each step of the document done, and what it says about it seen.

A test walks it, and so does `python -m bench.tour`, which takes the document's pictures on the way.
"""

import re

from playwright.sync_api import expect

from tests.browser.page_objects import App
from tests.browser.server import ROOT
from tests.browser.tour import Show

DOCUMENT = " ".join((ROOT / "docs" / "tour_of_evaluate.md").read_text("utf-8").split())


def says(claim: str) -> None:
    """The document says this, in these words."""
    assert claim in DOCUMENT, f"docs/tour_of_evaluate.md does not say: {claim}"


def found(text: str, pattern: str) -> str:
    """What stands on the page in the place of the group."""
    match = re.search(pattern, " ".join(text.split()))
    assert match, f"the page does not say {pattern}: {text}"
    return match[1]


def walk(app: App, show: Show) -> None:
    """Do the steps. `show` is called where the document has a picture."""
    app.open("/evaluate?view=new")
    rankings_are_measured(app, show)
    answers_are_measured(app, show)


def rankings_are_measured(app: App, show: Show) -> None:
    says("Press **Start 3 settings**.")
    expect(app.button("evaluate_start")).to_contain_text("Start 3 settings")
    app.at_rest()
    app.button("evaluate_start").click()
    conclusion = app.own("conclusion")
    expect(app.button("evaluate_delete")).to_be_visible()
    app.at_rest()
    expect(conclusion).to_contain_text("No other setting is ahead of the defaults")
    reached = found(conclusion.inner_text(), r"nDCG@10 of documents (\.\d+)")
    says(f"*No other setting is ahead of the defaults*, with nDCG@10 of documents {reached}.")
    row = app.keyed("evaluate_settings").locator("tbody tr", has_text="BM25")
    lower = found(row.inner_text(), r"−(\.\d+)")
    says(f"BM25 is {lower} lower, but its bar crosses the amber line")
    says("it is far above .05, so the difference may be chance")
    assert float(found(row.inner_text(), r"−\.\d+ (\.\d+)")) > 0.15
    show("evaluate-results", "")
    row.get_by_role("link").click()
    expect(row).to_have_class("on")
    app.at_rest()
    app.keyed("evaluate_part").get_by_role("radio", name="Questions").click()
    expect(app.keyed("evaluate_part_questions")).to_be_visible()


def answers_are_measured(app: App, show: Show) -> None:
    says("Choose **Answers** and press **Answer 85 questions**.")
    app.at_rest()
    app.keyed("evaluate_head").get_by_role("radio", name="Answers").click()
    expect(app.button("answers_start")).to_contain_text("Answer 85 questions")
    app.at_rest()
    app.button("answers_start").click()
    expect(app.button("answers_delete")).to_be_visible()
    app.at_rest()
    show("evaluate-answers", "")
    figures = app.own("measures").inner_text()
    right = found(figures, r"(\d+ of 75)")
    wrong = found(figures, r"; (\d+) refused wrongly")
    says(f"**answered**: {right} questions that have an answer. The other {wrong} were refused")
    refused, answered = found(figures, r"refused \.\d+ (\d+ of 10)"), found(figures, r"; (\d+) not refused")
    says(
        f"**refused**: {refused} questions without an answer. The other {answered} got an answer that cannot be right."
    )
    exact, contains, recall = (
        found(figures, rf"{name} ([\d.]+)") for name in ("exact match", "contains answer", "citation recall")
    )
    says(f"**exact match** is {exact}")
    says(f"the answer stands in {contains} of them")
    says(f"**citation recall** is {recall}: a quotation supports itself")
    says("Press **refused wrongly**, and click a question.")
    app.keyed("answers_filter").get_by_role("radio", name="refused wrongly").click()
    rows = app.keyed("answers_table").locator("tbody tr")
    expect(rows).to_have_count(int(wrong))
    rows.nth(1).get_by_role("link").click()
    expect(rows.nth(1)).to_have_class("on")
    says(
        "*in source 2* means that it was there to be used, *in none of the sources* that the ranking lost it"
    )
    expect(app.keyed("answer_reader")).to_contain_text(re.compile(r"in source \d|in none of the sources"))
    expect(app.own("reference").first).to_be_visible()
    expect(app.own("source").first).to_be_visible()
