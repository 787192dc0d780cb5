"""Extraction of a page's text by scored blocks or trafilatura.

Trafilatura's text is used for articles if its expected score is higher.
"""

import lxml.html
from lxml import etree

from core.reading.html.block_choice import KnownPage
from core.reading.html.dom_cleaning import remove_hidden_lxml
from core.reading.html.extraction import Extraction
from core.reading.html.headings import lxml_headings
from core.reading.html.html_parsing import parse_html
from core.reading.html.trafilatura_calls import article_and_comments, article_text, author, publication_date
from core.reading.page_parts.repeated_parts import html_parts
from core.reading.page_parts.structures import html_structures

_UNSIGNED = ("aside", "footer", "iframe", "nav", "svg")
"""Elements without the page's own dates and authors."""


def extract_accurate(html: str, url: str, *, dated: bool = False, signed: bool = False) -> Extraction:
    """Extract the page's text and kind.

    The date and the author are extracted too, unless they are already `dated` and `signed`.
    """
    tree = parse_html(html)
    hidden = remove_hidden_lxml(tree)
    headings, structures = lxml_headings(tree), html_structures(tree)
    page = KnownPage.of(tree, html, url)
    parts = html_parts(tree, page.blocks, page.kind)
    # Trafilatura's second opinions take two fifths of its time, so use them only if the first article is
    # doubtful.
    articles = (article_text(tree, url, fast=fast) for fast in (True, False))
    choice = page.content(articles, candidates_of(tree, html, url))
    etree.strip_elements(tree, *_UNSIGNED, with_tail=False)
    return Extraction(
        text=choice.text,
        extractor=choice.extractor,
        kind=page.kind,
        kind_reason="; ".join(filter(None, (page.reason, choice.reason))),
        hidden=hidden,
        visible="\n".join(block.text for block in page.blocks),
        headings=headings,
        structures=structures,
        parts=parts,
        date="" if dated else publication_date(tree, url),
        author="" if signed else author(tree),
    )


def candidates_of(tree: lxml.html.HtmlElement, html: str, url: str) -> tuple[str, str, str]:
    """Return the texts of other extractors.

    They are trafilatura's article and comments, and resiliparse's article.
    """
    from resiliparse.extract.html2text import extract_plain_text

    return (*article_and_comments(tree, url), extract_plain_text(html, main_content=True, alt_texts=False))
