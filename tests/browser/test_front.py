"""The front page: a recorded run plays, then its knobs strike citations, and it opens as a run."""

import re

from playwright.sync_api import expect

from tests.browser.page_objects import App


def test_recorded_run_plays_is_tuned_and_opened(app: App) -> None:
    page = app.page
    page.emulate_media(reduced_motion="no-preference")
    app.open("/")
    stage = page.get_by_role("region", name="A recorded run")
    told, pause = stage.get_by_role("status"), stage.get_by_role("button", name="Pause the recorded run")
    expect(pause).to_be_visible()  # it starts by itself
    app.field("question").fill("Why")
    play = stage.get_by_role("button", name="Play the recorded run", exact=True)
    expect(play).to_be_visible()
    expect(told).to_contain_text("After the answer")
    stage.get_by_role("button", name=re.compile("^Answer")).click()
    expect(told).to_have_text("Change a knob: a citation that loses its passage is struck.")
    stage.get_by_role("slider", name="Passages in the context").fill("1")
    expect(told).to_contain_text("citations lose their passage")
    expect(stage.get_by_role("img", name="left the context").first).to_be_visible()
    stage.get_by_role("button", name="As it was").click()
    expect(stage.get_by_role("img", name="left the context")).to_have_count(0)
    size = stage.get_by_role("slider", name="Passage size")
    expect(size).to_have_attribute("aria-valuetext", "500 characters")
    size.press("ArrowRight")  # the server cuts the pages again
    expect(told).to_contain_text(re.compile("keeps? (its|their) passage|loses? (its|their) passage"))
    expect(size).to_have_attribute("aria-valuetext", "600 characters")
    stage.get_by_role("button", name="As it was").click()
    stage.get_by_role("button", name="Open this run").click()
    expect(app.answer).to_be_visible()
    # The same on the page of the run.
    app.open_settings()
    page.get_by_test_id("stSidebar").get_by_text("cosine", exact=True).click()
    expect(app.own("tuned")).to_contain_text("lose their passage")
    struck = app.answer.get_by_role("link", name=re.compile("left the context$"))
    expect(struck.first).to_be_visible()
    expect(app.answer.locator("a.oq-lost").first).to_be_visible()
    app.keyed("as_it_was").get_by_role("button").click()
    expect(app.own("tuned")).to_have_count(0)
    expect(page.locator(".oq-lost")).to_have_count(0)
    expect(struck).to_have_count(0)


def test_with_reduced_motion_the_last_frame_stands(app: App) -> None:
    app.page.emulate_media(reduced_motion="reduce")
    app.open("/")
    stage = app.page.get_by_role("region", name="A recorded run")
    expect(stage.get_by_role("button", name="Play the recorded run again")).to_be_visible()
    stage.get_by_role("button", name=re.compile("^Pages")).click()
    expect(stage.get_by_role("listitem").first).to_be_visible()
    expect(stage.get_by_role("slider", name="Passages in the context")).to_be_disabled()
