"""A run that its owner shares by a read-only link, in two browsers, and takes back while it is open in the other."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.axe import findings
from tests.browser.conftest import visiting
from tests.browser.page_objects import App
from tests.browser.server import Site

ANY_LINK = re.compile(r"\?run=(link-[A-Za-z0-9_-]{32})$")


@pytest.mark.thorough
def test_link_is_tuned_by_others_and_revoked_while_open(
    answered: App, chromium: Browser, demo_site: Site
) -> None:
    owner, site = answered, demo_site
    with visiting(chromium, site) as guest:
        run_id, menu = owner.shown_run(), owner.page.get_by_test_id("stPopoverBody")
        owner.button("export").click()
        owner.button("link_make").click()
        expect(menu.locator("code")).to_have_text(ANY_LINK)
        address = menu.locator("code").inner_text()
        owner.at_rest()
        assert findings(owner.page, "links") == ()

        guest.open(address.removeprefix(site.url))
        guest.finished()
        expect(guest.page.get_by_test_id("stMain")).to_contain_text("by a read-only link")
        guest.type_number("rank_top_k", "3")
        expect(guest.own("tuned")).to_contain_text("−3 removed")
        guest.at_rest()
        for offer in ("answer_again", "export", "follow_up", "label_next"):
            expect(guest.keyed(offer)).to_have_count(0)
        assert run_id not in guest.page.content()
        assert findings(guest.page, "linked run") == ()
        guest.page.get_by_role("link", name="Explain", exact=True).last.click()
        expect(guest.keyed("run_head")).to_contain_text("chunk overlap")
        guest.at_rest()
        assert run_id not in guest.page.content()
        guest.back()
        guest.finished()

        menu.get_by_role("button", name="Take back").click()
        expect(menu.locator("code")).to_have_count(0)
        guest.tab("Search hits").click()
        expect(guest.page.get_by_test_id("stMain")).to_contain_text(
            "This link does not lead to a run any more. Its owner has taken it back"
        )
        expect(guest.own("question")).to_have_count(0)
        owner.page.keyboard.press("Escape")
        expect(owner.slider("rank_top_k")).to_have_value("6")
