"""docs/tour_of_evaluate.md holds: its steps can be done, and what it says is seen."""

import re

import pytest

from tests.browser.page_objects import App
from tests.browser.tour_of_evaluate import DOCUMENT, walk


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_the_tour_of_evaluate_shows_what_its_document_says(app: App) -> None:
    pictures: list[str] = []
    walk(app, lambda name, _top: pictures.append(name))
    assert pictures == re.findall(r"\(images/tour-([\w-]+)\.png\)", DOCUMENT)
