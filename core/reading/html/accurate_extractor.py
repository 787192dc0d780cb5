"""Extraction of a page's text by scored blocks or trafilatura.

Trafilatura's text is used for articles if its expected score is higher.
"""

import lxml.html
from lxml import etree

from core.reading.html.block_choice import KnownPage
from core.reading.html.consent import remove_consent_request
from core.reading.html.dom_cleaning import remove_hidden_lxml
from core.reading.html.extraction import Extraction
from core.reading.html.headings import lxml_headings
from core.reading.html.html_parsing import parse_html
from core.reading.html.non_articles import consent_cues
from core.reading.html.publication_date import publication_date
from core.reading.html.text_blocks import wrap_loose_text
from core.reading.html.trafilatura_calls import article_and_comments, article_text, author
from core.reading.page_parts.repeated_parts import html_parts
from core.reading.page_parts.structures import html_structures

_REQUEST = 2
"""Kinds of words of a text that has a request for consent in it."""
_UNSIGNED = ("aside", "footer", "iframe", "nav", "svg")
"""Elements without the page's own dates and authors."""


def extract_accurate(
    html: str, url: str, *, dated: bool = False, signed: bool = False, asking: bool = True
) -> Extraction:
    """Extract the page's text and kind.

    The date and the author are extracted too, unless they are already `dated` and `signed`. A text with a request for
    consent is extracted again from the page without requests, which is no longer `asking`.
    """
    tree = parse_html(html)
    hidden = remove_hidden_lxml(tree)
    wrap_loose_text(tree)
    if not asking:
        remove_consent_request(tree)
    headings, structures = lxml_headings(tree), html_structures(tree)
    page = KnownPage.of(tree, html, url)
    parts = html_parts(tree, page.blocks, page.kind)
    # Trafilatura's second opinions take two fifths of its time, so use them only if the first article is
    # doubtful.
    articles = (article_text(tree, url, fast=fast) for fast in (True, False))
    choice = page.content(articles, candidates_of(tree, html, url))
    if asking and consent_cues(choice.text) >= _REQUEST:
        return extract_accurate(html, url, dated=dated, signed=signed, asking=False)
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
        date="" if dated else publication_date(tree),
        author="" if signed else author(tree),
    )


def candidates_of(tree: lxml.html.HtmlElement, html: str, url: str) -> tuple[str, str, str]:
    """Return the texts of other extractors.

    They are trafilatura's article and comments, and resiliparse's article.
    """
    from resiliparse.extract.html2text import extract_plain_text

    return (*article_and_comments(tree, url), extract_plain_text(html, main_content=True, alt_texts=False))
