"""The price table of the System page, edited by hand."""

import pytest
from playwright.sync_api import expect

from core.config.egress import UNRESTRICTED
from core.config.prices import SHIPPED
from core.storage.price_file import PriceFile
from tests.browser.page_objects import App


@pytest.mark.thorough
def test_typed_price_is_kept_until_openquery_prices_are_restored(app: App) -> None:
    app.open("/system")
    save, reset = app.button("prices_save"), app.button("prices_reset").first
    expect(save).to_be_disabled()
    app.cell(1, 330)
    app.drawn()
    app.page.keyboard.press("Enter")
    app.page.locator("#portal input").fill("7.5")
    app.page.keyboard.press("Enter")
    expect(save).to_be_enabled()
    save.click()
    expect(reset).to_be_enabled()
    file = PriceFile(app.site.folder / "data", UNRESTRICTED)
    rows = file.read().rows
    assert (rows[0].model, rows[0].prompt) == (SHIPPED.rows[0].model, 7.5)
    assert rows[1:] == SHIPPED.rows[1:]
    reset.click()
    expect(reset).to_be_disabled()
    assert file.read().rows == SHIPPED.rows
