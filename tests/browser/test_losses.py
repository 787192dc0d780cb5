"""What was lost on the way to an answer is open on the Research page, and no phase looks better than it went."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import WebRun
from tests.browser.page_objects import App
from tests.services.openai_server import FakeOpenAI, failure, streamed

BELOW_20_SECONDS = re.compile(r"retrying in 1?\d s")


def test_a_rate_limit_while_queries_are_written_is_time_of_queries(model_app: App, model: FakeOpenAI) -> None:
    model.chats.append(failure(429, retry_after="3"))
    model.chats.extend([streamed("chunk overlap\npassage boundaries"), streamed("Facts stay whole [1].")])
    model_app.ask()
    line = model_app.own("status-line")
    expect(line).to_contain_text("Writing search queries: rate limit of 127.0.0.1")
    expect(model_app.step("embed")).to_have_class(re.compile(r"\bwaiting\b"))
    model_app.finished()
    expect(model_app.step("plan")).to_contain_text(re.compile(r"waited 3\.\d s"))


def test_a_figure_that_no_cited_source_has_is_flagged_at_the_answer(web_app: App, web_run: WebRun) -> None:
    web_app.open(f"/?run={web_run.run}")
    facts = web_app.keyed("answer_card").locator(".oq-facts")
    expect(facts.locator(".bad")).to_have_text("1 number not in the cited sources")
    expect(web_app.own("losses")).to_be_visible()
    expect(web_app.own("losses")).to_contain_text(
        "4711 is not in the sources it cites: “One mill ground 4711 sacks"
    )
    expect(web_app.keyed("answer_head")).to_contain_text("warning")
    count = facts.locator("span", has_text="citation").first.locator("b").inner_text()
    web_app.open(f"/explain?run={web_run.run}&view=attribution")
    similar = web_app.page.locator(".oq-facts span", has_text="citations similar to their sentence")
    expect(similar).to_contain_text(f"/{count}")


def test_compare_tells_what_an_answer_waits_for(model_app: App, model: FakeOpenAI) -> None:
    model.chats.extend([streamed("chunk overlap\npassage boundaries"), streamed("Facts stay whole [1].")])
    model_app.ask()
    model_app.finished()
    model_app.open(f"/compare?run={model_app.shown_run()}")
    model.chats.extend(failure(429, retry_after="20") for _ in range(2))
    model_app.button("answer_both").click()
    for side in "ab":
        card = model_app.keyed(f"version_card_{side}")
        expect(card).to_contain_text("rate limit of 127.0.0.1")
        expect(card).to_contain_text(BELOW_20_SECONDS)
    model_app.button("stop_both").click()
    expect(model_app.button("answer_both")).to_be_visible()
