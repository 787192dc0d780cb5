"""Extraction with trafilatura for articles, where it fails with readability; by a score of each block for other pages."""

from typing import Any

import lxml.html
from lxml import etree

from core.reading.html.block_choice import KnownPage
from core.reading.html.dom_cleaning import remove_hidden_lxml
from core.reading.html.extraction import Extraction
from core.reading.html.headings import lxml_headings
from core.reading.html.html_parsing import parse_html
from core.reading.html.text_blocks import block_text, prose_length
from core.reading.html.trafilatura_calls import article_and_comments, article_text, author, publication_date
from core.reading.normalization import paragraphs
from core.reading.page_parts.repeated_parts import html_parts
from core.reading.page_parts.structures import html_structures

_MIN_CHARACTERS = 200
"""Characters below which the next extractor runs too."""
_TRUNCATED_SHARE = 0.6
"""An article that holds less than this share of the page's prose may have been cut off."""
_MIN_PROSE = 1_000
"""Characters of prose from which the truncation check is made."""
_RETRY_BELOW = 1_000
"""Characters below which trafilatura runs again in its slow mode."""
_SMALL_SHARE = 1 / 3
"""A text that is less than this of what trafilatura finds when it favours recall is a remnant of an article."""
_UNSIGNED = ("aside", "footer", "iframe", "nav", "svg")
"""Elements with the dates and authors of other pages, or with none."""
_LENGTH: Any = etree.XPath("string-length(normalize-space())")
_OUTSIDE_MENUS: Any = etree.XPath(
    "//text()[not(ancestor::a or ancestor::aside or ancestor::footer or ancestor::form or ancestor::header or ancestor::nav)]",
    smart_strings=False,
)


def extract_accurate(html: str, url: str, *, dated: bool = False, signed: bool = False) -> Extraction:
    """The article's text, from the first extractor that finds one; its date and author unless they are known."""
    tree = parse_html(html)
    hidden = remove_hidden_lxml(tree)
    headings, structures = lxml_headings(tree), html_structures(tree)
    page = KnownPage.of(tree, html, url)
    parts = html_parts(tree, page.blocks, page.kind)
    text = "" if page.is_article else paragraphs(page.content(candidates_of(tree, html, url)))
    text, winner = (text, "scored blocks") if len(text) >= _MIN_CHARACTERS else _best_extraction(tree, url)
    etree.strip_elements(tree, *_UNSIGNED, with_tail=False)
    return Extraction(
        text=text,
        extractor=winner,
        kind=page.kind,
        kind_reason=page.reason,
        hidden=hidden,
        visible="\n".join(block.text for block in page.blocks),
        headings=headings,
        structures=structures,
        parts=parts,
        date="" if dated else publication_date(tree, url),
        author="" if signed else author(tree),
    )


def _best_extraction(tree: lxml.html.HtmlElement, url: str) -> tuple[str, str]:
    text, winner = _precise_extraction(tree, url)
    if _may_be_remnant(text, tree):
        other = article_text(tree, url, fast=False, favor_recall=True)
        if len(text) < _SMALL_SHARE * len(other):
            return other, "trafilatura"
    return text, winner


def _may_be_remnant(text: str, tree: lxml.html.HtmlElement) -> bool:
    """True for a text that is small beside the page's, first with its menus, which is quick, then without."""
    if len(text) >= _SMALL_SHARE * _LENGTH(tree):
        return False
    return len(text) < _SMALL_SHARE * len(" ".join(" ".join(_OUTSIDE_MENUS(tree)).split()))


def _precise_extraction(tree: lxml.html.HtmlElement, url: str) -> tuple[str, str]:
    prose = prose_length(tree)
    text = article_text(tree, url, fast=True)
    # Its second opinions take two fifths of its time, and change one page in 25 (decision 0009).
    if len(text) < _RETRY_BELOW or len(text) < _TRUNCATED_SHARE * prose:
        text = article_text(tree, url, fast=False)
    if len(text) >= _MIN_CHARACTERS:
        if prose >= _MIN_PROSE and len(text) < _TRUNCATED_SHARE * prose:
            other = _by_readability(tree)
            if len(text) < _TRUNCATED_SHARE * len(other) and _contains(other, text):
                return other, "readability"
        return text, "trafilatura"
    other = _by_readability(tree)
    if len(other) >= _MIN_CHARACTERS and len(other) > 2 * len(text):
        return other, "readability"
    if text:
        return text, "trafilatura"
    return (other, "readability") if other else (visible_text(tree), "visible text")


def candidates_of(tree: lxml.html.HtmlElement, html: str, url: str) -> tuple[str, str, str]:
    """What other extractors take: trafilatura's article and its comments, and the article of resiliparse."""
    from resiliparse.extract.html2text import extract_plain_text

    return (*article_and_comments(tree, url), extract_plain_text(html, main_content=True, alt_texts=False))


def visible_text(tree: lxml.html.HtmlElement) -> str:
    """All text outside navigation, forms and the like, with BeautifulSoup."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(etree.tostring(tree, encoding="unicode", method="html"), "lxml")
    for element in soup(
        ["nav", "header", "footer", "aside", "form", "script", "style", "noscript", "button"]
    ):
        element.decompose()
    body = soup.body or soup
    return paragraphs("\n".join(" ".join(line.split()) for line in body.get_text("\n").splitlines()))


def _by_readability(tree: lxml.html.HtmlElement) -> str:
    from readability import Document
    from readability.readability import Unparseable

    try:
        summary = Document(etree.tostring(tree, encoding="unicode", method="html")).summary()
        return paragraphs(block_text(lxml.html.document_fromstring(summary)))
    except (Unparseable, etree.LxmlError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""  # one opinion less; the caller has others


def _contains(longer: str, shorter: str) -> bool:
    """True when most of the shorter text's lines stand in the longer one: the same article, less cut."""
    lines = [line for line in shorter.split("\n") if len(line) > 40]
    return sum(line in longer for line in lines) * 10 >= 7 * len(lines) > 0
