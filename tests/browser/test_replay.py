"""A run that happens again on the Ask page, as a person watches it."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from core.run.events import Record
from core.run.fold import folded_run
from tests.browser.axe import findings
from tests.browser.page_objects import App
from tests.seeding import store_copy

SECONDS = 160
"""How long the replayed run took: long enough to click in it."""


QUESTION = "Why do facts fall between two passages?"


def _slow_run(app: App, records: tuple[Record, ...]) -> str:
    factor = SECONDS / records[-1].at
    slow = (replace(record, at=record.at * factor) for record in records)
    return store_copy(app.site.folder, slow, QUESTION)


@pytest.mark.thorough
def test_run_is_replayed_paused_sped_up_and_halted_by_phase(
    app: App, demo_records: tuple[Record, ...]
) -> None:
    run_id, final = _slow_run(app, demo_records), folded_run(demo_records)
    bar = app.keyed("replay")
    app.open(f"/?run={run_id}")
    app.finished()
    app.button("export").first.click()
    app.at_rest()
    app.button("replay_start").click()
    expect(bar).to_contain_text(re.compile(r"Replay of the run of \d+ \w+ \d{4}, .*1×, running"))
    expect(app.stop).to_have_count(0)
    app.button("replay_pause").click()
    expect(bar).to_contain_text("paused at")
    expect(app.step("answer")).to_have_class(re.compile("waiting"))
    assert f"run={run_id}&replay=1" in app.page.url

    app.page.reload()
    expect(bar).to_contain_text("running")
    bar.get_by_role("combobox").click()
    app.page.get_by_role("option", name="Answer").click()
    app.page.keyboard.press("Escape")
    bar.get_by_role("radio", name="16×").click()
    expect(bar).to_contain_text("16×, paused at")
    app.at_rest()
    expect(app.step("rank")).to_have_class(re.compile("done|partial"))
    expect(app.step("answer")).to_have_class(re.compile("running"))
    expect(app.answer).not_to_contain_text(final.text[:30])
    assert findings(app.page, "replay") == ()

    app.button("replay_continue").click()
    expect(bar).to_contain_text("it has ended")
    app.finished()
    expect(app.own("source")).to_have_count(len(final.sources))
    app.button("replay_end").click()
    expect(bar).to_have_count(0)
    expect(app.page).not_to_have_url(re.compile("replay"))
    app.open("/runs")
    expect(app.listed(QUESTION)).to_have_count(1)
