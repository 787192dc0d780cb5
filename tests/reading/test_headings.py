"""Headings of HTML pages become the sections of their articles, whichever extractor reads them."""

import time

import pytest

from core.model import Article, Document, Extractor
from core.reading import extract

PROSE = f"<p>{'Water flows over the wheel and turns the stone in the mill. ' * 6}</p>"


def read(body: str, extractor: Extractor = Extractor.ACCURATE) -> Article:
    html = f"<html><head><title>Mills</title></head><body>{body}</body></html>"
    document = Document(
        url="https://a.example/", status=200, media_type="text/html", charset="utf-8", body=html.encode()
    )
    return extract(document, extractor)


@pytest.mark.parametrize("extractor", Extractor)
def test_the_headings_of_a_page_are_its_sections(extractor: Extractor) -> None:
    article = read(
        f"<article><h1>Tide mills</h1>{PROSE}<h2>History<a href='#h'>¶</a></h2>{PROSE}"
        f"<h3>The  <em>first</em>\nmills</h3>{PROSE}<h2>  </h2><h2>{'Too long. ' * 30}</h2>{PROSE}</article>",
        extractor,
    )
    assert [name for _, name in article.sections] == ["Tide mills", "History", "The first mills"]
    for start, name in article.sections:
        assert article.text[start:].startswith(name)
    assert article.section_at(article.text.index("Water", article.sections[1][0])) == "History"


def test_a_table_of_contents_is_no_section() -> None:
    article = read(
        f"<main><h1>Mills</h1><div>History</div><div>Use</div>{PROSE}<h2>History</h2>{PROSE}<h2>Use</h2>{PROSE}</main>",
        Extractor.VISIBLE,
    )
    assert [name for _, name in article.sections] == ["Mills", "History", "Use"]
    assert article.section_at(article.text.index("Water")) == "Mills"


def seconds(body: str, extractor: Extractor) -> float:
    began = time.process_time()
    assert read(body + PROSE, extractor).sections == ()
    return time.process_time() - began


@pytest.mark.parametrize("extractor", Extractor)
@pytest.mark.slow
def test_nested_headings_cost_a_small_multiple_of_their_text(extractor: Extractor) -> None:
    text = "mill " * 40_000
    flat = seconds(f"<div>{text}</div>", extractor)
    assert seconds("<h1><div>" * 700 + text + "</div></h1>" * 700, extractor) < 60 * flat
