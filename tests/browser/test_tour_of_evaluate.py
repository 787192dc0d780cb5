"""docs/tour_of_evaluate.md holds: its steps can be done, and what it says is seen."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import visiting
from tests.browser.server import serving
from tests.browser.tour_of_evaluate import DOCUMENT, walk


@pytest.mark.timeout(240)
def test_the_tour_of_evaluate_can_be_walked_and_shows_what_its_document_says(
    chromium: Browser, tmp_path: Path
) -> None:
    pictures: list[str] = []
    with serving(tmp_path) as site, visiting(chromium, site) as app:
        walk(app, lambda name, _top: pictures.append(name))
    assert pictures == re.findall(r"\(images/tour-([\w-]+)\.png\)", DOCUMENT)
