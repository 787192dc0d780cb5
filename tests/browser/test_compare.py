"""What if, a view of Explain: answers that stream side by side, with nothing fetched again."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import WebRun
from tests.browser.page_objects import App
from tests.services.loopback import Gate
from tests.services.openai_server import streamed


def test_both_answers_stream_side_by_side_or_are_stopped(web_app: App, web_run: WebRun) -> None:
    requests = list(web_run.web.requests)
    gates = Gate(), Gate()
    web_app.open(f"/explain?view=what-if&run={web_run.run}&a=own&b=rank.top_k:2")
    expect(web_app.keyed("version_body_a")).to_contain_text("4711 sacks")
    held = Gate()
    web_run.model.chats.extend(streamed(held, "The pond held the flood [1].") for _ in "ab")
    web_app.button("answer_both").click()
    for side in "ab":
        expect(web_app.keyed(f"version_card_{side}")).to_contain_text("Writing the answer")
    held.wait_reached()
    web_app.at_rest()  # a button that is drawn anew between press and release is not clicked
    web_app.button("stop_both").click()
    for side in "ab":
        card = web_app.keyed(f"version_card_{side}")
        expect(card.locator(".oq-version-head")).to_contain_text("Stopped: fused")
        expect(card).to_contain_text("Stopped before the answer was written")
    held.open()
    web_app.keyed("side_b_rank_top_k").get_by_role("slider").press("ArrowRight")
    head = web_app.keyed("version_card_b").locator(".oq-version-head")
    expect(head).to_contain_text("Outdated: the settings have changed")
    expect(web_app.keyed("version_card_a").locator(".oq-version-head")).to_contain_text("Stopped: fused")
    web_app.at_rest()

    web_run.model.chats.append(streamed("The pond ", gates[0], "held the flood [1].", cost=0.002))
    web_run.model.chats.append(streamed("The pond ", gates[1], "held the flood [1].", cost=0.001))
    web_app.button("answer_both").click()
    for side in "ab":
        expect(web_app.keyed(f"version_body_{side}")).to_contain_text("The pond ▍")
    expect(web_app.button("stop_both")).to_be_visible()
    for gate in gates:
        gate.open()
    expect(web_app.keyed("answer_pair").locator(".oq-verdict")).to_contain_text(
        "Both answers have the same sentences and citations"
    )
    difference = web_app.page.locator(".oq-figures tr").last
    expect(difference).to_contain_text(re.compile(r"[+−]\$0\.00100"))
    web_app.page.locator('.st-key-version_body_b a[href="#pick-source/b/1"]').click()
    expect(web_app.keyed("reader_source")).to_contain_text("B: source 1")
    web_app.button("swap").click()
    expect(web_app.keyed("version_card_a")).to_contain_text("3 passages")
    assert web_run.web.requests == requests
    kept = web_run.stored()
    assert kept is not None and "4711 sacks" in kept.text
