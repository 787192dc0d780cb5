"""What the Ask page shows while something is under way, in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.page_objects import App
from tests.services.loopback import Gate, Reply
from tests.services.openai_server import FakeOpenAI, streamed

BELOW_20_SECONDS = re.compile(r"retrying in 1?\d s")
PLACES = (
    ".st-key-question input",
    ".st-key-places",
    ".oq-steps",
    ".st-key-what_if",
    ".st-key-answer_card",
    ".oq-question",
    ".st-key-results",
)


def test_first_screen_of_a_running_question_is_complete_and_stable(model_app: App, model: FakeOpenAI) -> None:
    page, planning = model_app.page, Gate()
    page.set_viewport_size({"width": 1440, "height": 900})
    model.chats.append(streamed("chunk overlap\n", planning, "passage boundaries"))
    model.chats.append(streamed("Overlap keeps facts whole [1]."))
    model_app.ask()
    best, hits = model_app.own("best"), page.locator(".oq-feed.live .oq-hit")
    expect(best).to_have_count(5)
    for part in (model_app.own("chip").first, hits.first, hits.last, best.first, best.last):
        expect(part).to_be_in_viewport(ratio=1)
    expect(model_app.step("embed").locator(".count")).to_have_text(re.compile(r"^\d+ of \d+$"))
    expect(model_app.own("status-line")).to_contain_text("passages embedded")
    running = model_app.places(*PLACES)
    assert list(running) == list(PLACES)
    planning.open()
    model_app.finished()
    assert model_app.places(*PLACES) == running
    model_app.slider("rank_top_k").press("ArrowRight")
    expect(model_app.own("tuned")).to_contain_text("0 vectors computed")
    model_app.at_rest()
    assert model_app.places(*PLACES) == running


@pytest.mark.thorough
def test_while_passages_are_embedded_again_the_old_ranking_stays_dimmed(
    model_app: App, model: FakeOpenAI
) -> None:
    model.chats.extend([streamed("chunk overlap\npassage boundaries"), streamed("Facts stay whole [1].")])
    model_app.ask()
    model_app.finished()
    count = model_app.step("chunk").locator(".count")
    before, ranked = count.inner_text(), model_app.keyed("ranked")
    expect(ranked).to_have_css("opacity", "1")

    for leave in ("stop", "reload"):
        gate = Gate()
        model.embeddings.append(Reply((gate, b"{}")))
        model_app.slider("chunk_size").press("ArrowLeft")
        expect(model_app.own("tuned")).to_contain_text(re.compile(r"Re-embedding \d+ of \d+"))
        expect(ranked).to_have_css("opacity", "0.42")
        expect(count).to_have_text(before)
        if leave == "stop":
            model_app.button("stop_retuning").click()
            expect(model_app.own("status-line")).to_contain_text("still ranked with the settings before")
            expect(count).to_have_text(before)
            model_app.button("reset_stopped").click()
            expect(model_app.own("tuned")).to_have_count(0)
            expect(ranked).to_have_css("opacity", "1")
            expect(count).to_have_text(before)
            expect(model_app.slider("chunk_size")).to_have_value("500")
            gate.open()
            model_app.at_rest()
        else:  # the address has the settings, and the new visit embeds again what the old one has not
            model_app.page.reload()
            expect(model_app.slider("chunk_size")).to_have_value("450")
            gate.open()
    expect(count).not_to_have_text(before)
    expect(ranked).to_have_css("opacity", "1")
    expect(ranked).to_have_css("opacity", "1")
    expect(model_app.own("tuned")).to_contain_text("vectors computed")


@pytest.mark.thorough
def test_rate_limit_is_counted_down_and_can_be_stopped(model_app: App, model: FakeOpenAI) -> None:
    refused = Reply((b'{"error": {"message": "Slow down."}}',), status=429, headers={"Retry-After": "20"})
    model.chats.append(refused)
    model_app.ask()
    line = model_app.own("status-line")
    expect(line).to_contain_text("Writing search queries: rate limit of 127.0.0.1")
    expect(line).to_contain_text(BELOW_20_SECONDS)
    expect(model_app.step("plan").locator("time")).to_contain_text("retry")
    model_app.stop.click()
    expect(model_app.keyed("answer_head")).to_contain_text("stopped")
    expect(model_app.own("status-line")).to_contain_text("The run was stopped.")


def test_evidence_of_a_busy_page_is_told_without_errors(app: App) -> None:
    app.open()
    app.page.evaluate(
        "() => { setTimeout(() => { const end = Date.now() + 2000; while (Date.now() < end); }); }"
    )
    assert "The page cannot be read: " in app.evidence(200)
    app.page.wait_for_function("() => true")
    assert "The page cannot be read: " not in app.evidence()
