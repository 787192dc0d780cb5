"""HTML of the pages: texts stay texts, whatever they contain."""

import lxml.html
import pytest
from htpy import a, p

from core.model import Article, Author, Query, StructureKind
from core.model.passage_urls import document_url, site
from core.run.state import Run
from pages.parts import markup
from pages.parts.passage_reader import with_structures
from pages.parts.research.live_results import query_chips


@pytest.mark.parametrize("tags", ["<b>", "<script>alert(1)</script>", "\" onload='x' <", "&lt;"])
def test_texts_and_attributes_are_escaped(tags: str) -> None:
    html = markup.html(
        p[tags],
        a(title=tags)["x"],
        tags,
        markup.fact(tags, tags, tags),
        markup.link_out("javascript:x", tags),
    )
    escaped = (
        tags.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&#34;")
        .replace("'", "&#39;")
    )
    assert html == (
        f'<p>{escaped}</p><a title="{escaped}">x</a>{escaped}'
        f'<span title="{escaped}"><b>{escaped}</b> {escaped}</span>{escaped}'
    )


def test_characters_that_a_reader_cannot_see_are_removed() -> None:
    assert markup.html(p(title="a\u202eb")["c\u200bd\x00"]) == '<p title="ab">cd</p>'


def test_document_without_an_address_names_its_data_set_unlinked() -> None:
    url = document_url("handbook", "bm25.md")
    assert site(url) == "handbook"
    assert markup.open_url(url) == ""


@pytest.mark.parametrize("place", [(0, 36), (0, 9), (9, 15), (15, 31), (31, 36)])
def test_tables_and_code_are_drawn_without_changing_the_text(place: tuple[int, int]) -> None:
    text = "Run this:\n<b>\n\n  x\n\nA: 1; B: 2\n\nEnd."
    structures = ((10, 18, StructureKind.CODE), (20, 30, StructureKind.TABLE))
    article = Article(text=text, extractor="", structures=structures)
    start, end = place
    drawn = lxml.html.fragment_fromstring(markup.html(p[with_structures(article, start, text[start:end])]))
    assert drawn.text_content() == text[start:end]
    assert [(element.get("class"), element.text_content()) for element in drawn] == [
        (kind.value, text[max(first, start) : min(last, end)])
        for first, last, kind in structures
        if first < end and last > start
    ]


def test_query_from_right_to_left_is_isolated_from_its_number() -> None:
    run = Run(queries=(Query(text="ما هو الاسترجاع", author=Author.QUESTION),))
    assert "Q1 <bdi>ما هو الاسترجاع</bdi> (your question)" in markup.html(query_chips(run))


@pytest.mark.parametrize(
    ("number", "said"), [(1, "<b>1</b> vector reused"), (2000, "<b>2,000</b> vectors reused")]
)
def test_count_agrees_with_its_noun(number: int, said: str) -> None:
    assert said in markup.html(markup.count(number, "vector", " reused"))
