"""docs/tour.md holds: its steps can be done, and what it says is seen."""

import re

import pytest

from tests.browser.page_objects import App
from tests.browser.tour import DOCUMENT, Tour


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_tour_can_be_walked_as_its_document_says(app: App) -> None:
    pictures: list[str] = []
    Tour(app, lambda name, _top: pictures.append(name)).walk()
    assert pictures == re.findall(r"\(images/tour-(\w+)\.png\)", DOCUMENT)
