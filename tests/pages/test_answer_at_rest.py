"""The page of an answer at rest: each thing is said once, and the checks are in one line."""

import re

import pytest

from core.runtime.registry import RunRegistry
from pages.parts.research.status_line import HINT
from tests.pages.conftest import answered, opened, words
from tests.pages.test_explain_and_compare import shown, stored

pytestmark = pytest.mark.slow


def test_counts_of_the_stepper_are_not_repeated(registry: RunRegistry) -> None:
    run = answered(registry)
    app = opened(run=run.id)
    assert not app.exception
    said = words(app)
    assert HINT in said
    assert "ranked by" not in said and "shown" not in said
    assert len(re.findall(r"\bin the context\b", said)) == 1, "the stepper says how many"
    app.text_input(key="filter_words").set_value("overlap").run()
    assert re.search(r"Passages \d+ of \d+ shown", words(app))


def test_page_is_one_line_with_its_passage_numbers(registry: RunRegistry) -> None:
    run = answered(registry)
    page = shown(opened(run=run.id))
    lines = re.findall(r'class="oq-source-page".*?(?=class="oq-source-page"|$)', page, re.DOTALL)
    of_page: dict[str, list[str]] = {}
    for source in run.sources:
        of_page.setdefault(source.passage.place.page, []).append(str(source.number))
    numbers = [re.findall(r'<span class="n">(\d+)</span>', line) for line in lines]
    assert sorted(numbers) == sorted(of_page.values())


def test_checks_are_folded_unless_one_is_serious(registry: RunRegistry) -> None:
    page = shown(opened(run=answered(registry).id))
    found = re.search(r'<details class="oq-checks(?: serious)?"( open)?>.*?</summary>', page)
    assert found and not found[1] and "none serious" in found[0]
    weak = stored(registry, "A mill stood here.", answers=("The mill burnt 900 times [1].",))
    page = shown(opened(run=weak.id))
    found = re.search(r'<details class="oq-checks(?: serious)?"( open)?>.*?</summary>', page)
    assert found and found[1] and "1 serious" in found[0]
    assert 'aria-label="Warnings"' in page
