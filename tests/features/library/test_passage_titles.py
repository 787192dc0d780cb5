"""Titles and addresses of passages."""

import pytest

from core.features.library.search_ports import title_of
from core.model import LibraryPassage
from core.model.passage_urls import passage_at_url, passage_url


def test_untitled_passage_is_named_by_first_words_or_id() -> None:
    words = "The mill pond at Harrow Bridge is four metres deep at the sluice and silts up by a hand a year"
    title = title_of(LibraryPassage(id="17", content=f"{words}. It was dredged in spring."))
    assert title == "The mill pond at Harrow Bridge is four metres deep at the sluice and silts up…"
    assert title_of(LibraryPassage(id="17", content="It is four metres deep.")) == "Point 17"
    assert title_of(LibraryPassage(id="17", content="x", source="mills.pdf", page=3)) == "mills.pdf, page 3"


@pytest.mark.parametrize("name", ["book_content", "a.b-c_9", "X"])
def test_a_passages_address_names_its_collection_and_itself(name: str) -> None:
    assert passage_at_url(passage_url(name, "4f8d")) == (name, "4f8d")
    assert passage_at_url(f"https://example.org/{name}/4f8d") is None
