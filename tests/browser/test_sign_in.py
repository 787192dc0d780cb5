"""Signing in with a real OpenID Connect provider, in a real browser."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewFolder
from tests.browser.page_objects import QUESTION, App
from tests.browser.server import Site, serving
from tests.services.oidc import Provider

ANNA, BERTA = "anna@example.org", "berta@example.org"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider(ANNA, BERTA) as server:
        yield server


@pytest.fixture(scope="module")
def closed_site(provider: Provider, new_folder: NewFolder) -> Iterator[Site]:
    """The product on a machine whose operator has written an [auth] section."""
    home = new_folder("home")
    (home / ".streamlit").mkdir()
    secrets = provider.secrets("http://127.0.0.1:{port}/oauth2callback")
    (home / ".streamlit" / "secrets.toml").write_text(secrets)
    with serving(home, HOME=str(home), OPENQUERY_SIGN_IN="required") as site:
        yield site


@pytest.fixture
def visitor(visit: Callable[..., App], closed_site: Site, provider: Provider) -> Callable[[], App]:
    """Somebody new at the site, who may be sent to the provider."""
    return lambda: visit(closed_site, provider.url)


def sign_in(app: App, person: str) -> None:
    app.open()
    app.button("sign_in_default").click()
    app.page.get_by_role("link", name=person).click()
    app.page.wait_for_url(f"{app.site.url}/**")
    app.at_rest()


def at_the_door(page: Page) -> None:
    expect(page.locator(".st-key-sign_in_default button")).to_be_visible()
    expect(page.locator(".st-key-question")).to_have_count(0)
    expect(page.get_by_role("button", name="History")).to_have_count(0)


def test_nothing_is_shown_to_who_has_not_signed_in(visitor: Callable[[], App]) -> None:
    app = visitor()
    for path in ("/", "/runs", "/system", "/handbook", "/?run=unknown", "/sign-out"):
        app.open(path)
        at_the_door(app.page)
    # Signing out is a page of those who are signed in.
    app.faults[:] = [fault for fault in app.faults if "does not seem to exist" not in fault]


@pytest.mark.thorough
def test_people_sign_in_see_own_runs_and_sign_out(visitor: Callable[[], App]) -> None:
    anna, berta = visitor(), visitor()
    sign_in(anna, ANNA)
    anna.ask()
    anna.finished()
    anna.open("/runs")
    expect(anna.listed(QUESTION)).to_have_count(1)
    sign_in(berta, BERTA)
    berta.open("/runs")
    expect(berta.keyed("history_words")).to_be_visible()
    expect(berta.page.get_by_text("No runs yet")).to_be_visible()
    anna.keyed("nav_more").get_by_role("button").click()
    anna.page.get_by_role("link", name="Sign out").click()
    at_the_door(anna.page)
    anna.open("/runs")
    at_the_door(anna.page)
    berta.open("/runs")
    berta.keyed("nav_more").get_by_role("button").click()
    expect(berta.page.get_by_role("link", name="Sign out")).to_be_visible()


@pytest.mark.thorough
def test_who_comes_with_a_forged_token_stays_outside(
    visit: Callable[..., App], closed_site: Site, provider: Provider
) -> None:
    provider.forged = True
    try:
        app = visit(closed_site, provider.url, False)  # the server logs why it refused
        sign_in(app, ANNA)
        at_the_door(app.page)
    finally:
        provider.forged = False
