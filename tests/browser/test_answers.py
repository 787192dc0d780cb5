"""The Answers view of Evaluate: answers of a model that fails once, read beside their sources, on a phone and in the dark."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.axe import COLOURS, findings
from tests.browser.conftest import WebRun
from tests.browser.page_objects import App
from tests.services.openai_server import FakeOpenAI, failure, streamed

ANSWER = "The moon pulls the water [1]. It is made of cheese [1]."
VERDICTS = "1: entailed\n2: not addressed"


def data_set(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tides.txt").write_text("The moon pulls the water.\n\nThe sun pulls less.")
    rows = [f"What pulls number {one}?,The moon pulls,tides.txt,the moon" for one in range(4)]
    (folder / "tides.csv").write_text(
        "\n".join(["question,excerpt,source,answer", *rows, "Who wrote it?,,,"])
    )


@pytest.fixture
def judge(web_run: WebRun) -> Iterator[FakeOpenAI]:
    """The model of the server. It answers four questions, fails at the fifth, and judges."""
    model, reply = web_run.model, web_run.model.chat
    data_set(web_run.site.folder / "data" / "data_sets")
    model.chats.clear()
    model.chats.extend([*[streamed(ANSWER)] * 4, failure(400)])
    model.chat = VERDICTS
    yield model
    model.chat = reply


@pytest.mark.thorough
def test_answers_are_measured_read_and_asked_again(web_app: App, judge: FakeOpenAI) -> None:
    app, model = web_app, judge
    app.open("/evaluate?view=answers")
    app.keyed("answers_data").locator("input").fill("tides")
    app.page.get_by_role("option", name="tides.csv").click()
    expect(app.button("answers_start")).to_contain_text("Answer 5 questions")
    app.at_rest()
    app.keyed("answers_judge").locator("label").first.click()
    expect(app.keyed("answers_repeats")).to_be_visible()
    app.at_rest()
    app.button("answers_start").click()
    expect(app.page).to_have_url(re.compile("evaluation="))
    expect(app.button("answers_continue")).to_contain_text("Ask the 1 again")
    expect(app.page.locator(".stAlert")).to_contain_text("1 call failed")
    app.page.reload()
    expect(app.button("answers_continue")).to_contain_text("Ask the 1 again")
    model.chats.append(streamed(ANSWER))
    app.button("answers_continue").click()
    expect(app.button("answers_continue")).to_have_count(0)
    expect(app.button("answers_delete")).to_be_visible()
    app.at_rest()
    expect(app.own("measures")).to_contain_text("entailed (judge)")

    rows = app.keyed("answers_table").locator("tbody tr")
    expect(rows).to_have_count(5)
    expect(rows.first).to_contain_text("not refused")  # what should have been refused is the worst
    rows.nth(2).get_by_role("link").click()
    expect(rows.nth(2)).to_have_class("on")
    expect(app.page).to_have_url(re.compile("answer="))
    expect(app.own("reference")).to_have_text("the moon")
    sentences = app.own("sentences").locator("li")
    expect(sentences.first).to_contain_text("judge: entailed, 3 of 3")
    expect(sentences.first).to_have_class("good")
    expect(sentences.last).to_have_class("bad")
    app.answer.locator('a[href^="#src-"]').first.click()
    expect(app.keyed("reader_answer_source").locator("mark")).to_have_text("The moon pulls the water.")
    app.at_rest()
    assert findings(app.page, "Answers, light") == ()
    app.theme("dark")
    assert findings(app.page, "Answers, dark", COLOURS) == ()
    app.page.set_viewport_size({"width": 390, "height": 844})
    app.at_rest()
    assert app.page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(app.answer).to_be_visible()
    assert findings(app.page, "Answers, on a phone") == ()

    app.button("answers_judge_menu").click()
    app.field("judge_repeats").fill("1")
    app.field("judge_repeats").press("Enter")
    app.at_rest()
    with app.page.expect_download() as coming:
        app.button("answers_claims").click()
    assert Path(coming.value.path()).read_text("utf-8-sig").startswith("claim,source,label")
    app.button("answers_judge_again").click()
    expect(sentences.first).to_contain_text("judge: entailed, 1 of 1")  # from the cache
    expect(app.button("answers_delete")).to_be_visible()
    app.at_rest()

    app.button("answers_delete").click()
    app.button("answers_undo").click()
    expect(app.own("measures")).to_be_visible()
