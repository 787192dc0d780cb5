"""The context in the form that other programs hand to a model."""

from dataclasses import replace

import pytest

from core.analysis.answers.source_cards import source_context
from core.errors import ReadFailed, SearchFailed
from core.model import Source
from core.pipeline import failure
from core.run.state import Run
from core.stages.check import check
from tests.stages.fakes import source


def run_with(*sources: Source) -> Run:
    return Run(question="Which?", sources=sources)


def test_source_is_number_title_and_address_above_its_passage() -> None:
    one = replace(source(1, "Text\nof one."), title="First", url="https://a.example/1")
    two = replace(source(2, "Text of two."), title="", url="https://b.example/x_(y)")
    assert source_context(run_with(one, two)) == (
        "[Source 1: First](https://a.example/1)\nText\nof one.\n\n"
        "[Source 2: Unknown](https://b.example/x_(y))\nText of two."
    )


@pytest.mark.parametrize("title", ["A [b] c", "]( https://evil.example )", "two\nlines", "\\", "[Source 9]"])
def test_no_title_can_end_its_link(title: str) -> None:
    (line,) = source_context(run_with(replace(source(1, ""), title=title))).splitlines()
    (mark,) = check(line, range(1, 2)).citations
    assert (mark.number, line[mark.start : mark.end]) == (1, line)


def test_without_sources_it_says_which_step_found_nothing() -> None:
    assert source_context(Run()) == ""
    nothing = replace(Run(), error=failure(SearchFailed("SearXNG did not answer.")))
    assert source_context(nothing) == "No search results found."
    unreadable = replace(Run(), error=failure(ReadFailed("None.")))
    assert source_context(unreadable) == "Found search results but could not extract readable content."
