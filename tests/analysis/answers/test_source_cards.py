from dataclasses import replace

import pytest

from core.analysis.answers.source_cards import (
    bm25_fallback,
    cards_by_document,
    passages_of_documents,
    snippets_only,
    source_cards,
)
from core.analysis.rankings.ranked_passages import cosines
from core.config.knobs import Strategy
from core.model import Article, Page, Passage, Place, Source
from core.model.passage_urls import passage_url
from core.run.state import Run
from tests import samples
from tests.analysis.folded import finished
from tests.analysis.sample import run_of

RUN = run_of()


def with_snippets(count: int) -> Run:
    pages = {key: replace(page, snippet_only=at < count) for at, (key, page) in enumerate(RUN.pages.items())}
    return replace(RUN, pages=pages)


@pytest.mark.parametrize(("count", "expected"), [(0, False), (2, False), (3, True)])
def test_snippets_only_is_said_when_no_page_is_whole(count: int, expected: bool) -> None:
    assert snippets_only(with_snippets(count)) is expected
    assert not snippets_only(Run())


def test_words_only_is_said_when_wanted_vectors_are_missing() -> None:
    assert RUN.index is not None and RUN.ranking is not None
    blind = replace(
        RUN,
        index=replace(RUN.index, vectors=None, question=None),
        ranking=replace(RUN.ranking, strategy=Strategy.BM25, cosine=None),
    )
    assert bm25_fallback(blind)
    assert not bm25_fallback(RUN)
    asked = replace(blind, knobs=replace(RUN.knobs, rank=replace(RUN.knobs.rank, strategy=Strategy.BM25)))
    assert not bm25_fallback(asked), "words were asked for"
    assert not bm25_fallback(Run())


def test_card_tells_its_citations_and_other_places_of_its_text() -> None:
    (card,) = source_cards(finished())
    assert (card.number, card.citations, card.title) == (1, 1, "One")
    assert card.cosine == pytest.approx(0.8)
    assert card.other_sites == ()
    other = Page(key=samples.SLOW, url="https://www.b.example/", title="", article=samples.PAGE.article)
    (card,) = source_cards(replace(finished(), pages={samples.KEY: samples.PAGE, samples.SLOW: other}))
    assert card.other_sites == ("b.example",)


def test_without_vectors_there_are_no_cosines() -> None:
    run = finished()
    assert run.ranking is not None
    assert cosines(replace(run, ranking=replace(run.ranking, cosine=None))) == {}


def sourced(*passages: tuple[Page, int]) -> Run:
    """A run whose sources are what begins at these offsets of these pages."""
    return replace(
        RUN,
        pages={page.key: page for page, _ in passages},
        sources=tuple(
            Source(
                number=number,
                passage=Passage(
                    text=page.text[start:], place=Place(page=page.key, start=start, end=len(page.text))
                ),
                title=page.title,
                url=page.url,
                site=page.article.site,
            )
            for number, (page, start) in enumerate(passages, 1)
        ),
    )


def page(key: str, text: str, title: str, **fields: object) -> Page:
    return Page(key=key, url=key, title=title, article=Article(text=text, extractor="test", **fields))  # type: ignore[arg-type]


MILLS = "Tide mills\n\nThey grind.\n\nHistory of the ponds\n\nMonks built them."
HISTORY = MILLS.index("History")
MILL_PAGE = page(
    "https://a.example/mills",
    MILLS,
    "Tide mills – an overview",
    sections=((0, "Tide mills"), (HISTORY, "History of the ponds")),
)


def test_card_names_its_section_and_begins_after_the_heading() -> None:
    first, second, later = source_cards(
        sourced((MILL_PAGE, 0), (MILL_PAGE, HISTORY), (MILL_PAGE, MILLS.index("Monks")))
    )
    assert (first.section, second.section, later.section) == (
        "",
        "History of the ponds",
        "History of the ponds",
    ), "a heading that is the title is not repeated"
    assert first.snippet.startswith("They grind.")
    assert second.snippet == later.snippet == "Monks built them."


def test_cards_of_an_earlier_run_have_no_sections() -> None:
    [card] = source_cards(sourced((page("https://a.example/", MILLS, "Mills"), HISTORY)))
    assert card.section == ""
    assert card.snippet.startswith("History of the ponds")


def test_cards_of_one_page_stay_together_with_their_numbers() -> None:
    other = page("https://b.example/", "Other words.", "Other")
    cards = source_cards(sourced((MILL_PAGE, 0), (other, 0), (MILL_PAGE, HISTORY)))
    documents = cards_by_document(cards).values()
    assert [(group[0].document_title, [card.number for card in group]) for group in documents] == [
        ("Tide mills – an overview", [1, 3]),
        ("Other", [2]),
    ]
    assert passages_of_documents(cards) == "3 passages of 2 pages"
    assert passages_of_documents(cards[:1]) == "1 passage of 1 page"


def test_passages_of_one_file_stay_together_with_their_pages() -> None:
    def stored(passage: str, number: int) -> Page:
        return page(
            passage_url("books", passage),
            f"Words of {passage}.",
            f"Report, page {number}",
            site="report.pdf",
            page_starts=(0,),
            first_page=number,
            sections=((0, "Costs"),),
            metadata={"document": "d1"},
        )

    cards = source_cards(sourced((stored("p1", 3), 0), (stored("p2", 7), 0)))
    assert len(cards_by_document(cards)) == 1
    assert {(card.document_title, card.site) for card in cards} == {("Report", "report.pdf")}
    assert [(card.page, card.section) for card in cards] == [(3, "Costs"), (7, "Costs")]
    assert passages_of_documents(cards) == "2 passages of 1 document"


def test_a_title_of_any_length_is_cut() -> None:
    [card] = source_cards(sourced((page("https://a.example/", "Words.", "long " * 1_000), 0)))
    assert len(card.title) <= 200
    assert card.title.endswith("…")
