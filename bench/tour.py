"""The pictures of the guided tours: `python -m bench.tour` walks docs/tour.md and docs/tour_of_evaluate.md, and writes
docs/images/tour-*.png."""

from pathlib import Path

from playwright.sync_api import Page

from bench.screenshots import LAPTOP, opened, pictured, studio
from tests.browser import tour_of_evaluate
from tests.browser.conftest import App
from tests.browser.tour import Tour

ABOVE = 110
"""Pixels of the page's head, which lies over what scrolls."""


def main() -> None:
    with studio(__doc__) as (browser, site, folder):
        page = opened(browser, LAPTOP)
        app = App(page, site)
        tour_of_evaluate.walk(app, lambda name, top: _picture(page, folder, name, top))
        Tour(app, lambda name, top: _picture(page, folder, name, top)).walk()


def _picture(page: Page, folder: Path, name: str, top: str) -> None:
    """Take the picture, with the part of the page that has the key `top` at its top."""
    if top:
        page.locator(f".st-key-{top}").evaluate(
            "(one, above) => { one.style.scrollMarginTop = above + 'px'; one.scrollIntoView({block: 'start'}); }",
            ABOVE,
        )
    page.mouse.move(2, 300)
    pictured(page, folder / f"tour-{name}.png")


if __name__ == "__main__":
    main()
