"""Article extraction with resiliparse: a tenth of the accurate extractor's CPU, and more menus and footers in the text."""

import re
from typing import Any

from core.model import Unreadable
from core.reading.html.dom_cleaning import remove_hidden_lxml, remove_hidden_resiliparse
from core.reading.html.extraction import Extraction
from core.reading.html.headings import resiliparse_headings
from core.reading.html.html_parsing import MarkupSize, parse_html
from core.reading.normalization import paragraphs
from core.reading.page_parts.structures import Structure, html_structures

_STRUCTURED = re.compile("<(?:table|pre|code)", re.IGNORECASE)


def extract_fast(html: str) -> Extraction:
    """The article's text."""
    from resiliparse.extract.html2text import extract_plain_text

    tree, hidden, headings = _parsed(html)
    text = paragraphs(extract_plain_text(tree, main_content=True, alt_texts=False, noscript=True))
    return Extraction(
        text=text, extractor="resiliparse", hidden=hidden, headings=headings, structures=_structures(html)
    )


def extract_visible_text(html: str) -> Extraction:
    """All visible text, menus and footers too."""
    from resiliparse.extract.html2text import extract_plain_text

    tree, hidden, headings = _parsed(html)
    text = paragraphs(
        extract_plain_text(tree, main_content=False, alt_texts=False, list_bullets=False, noscript=True)
    )
    return Extraction(
        text=text, extractor="visible text", hidden=hidden, headings=headings, structures=_structures(html)
    )


def _parsed(html: str) -> tuple[Any, str, tuple[str, ...]]:
    """The tree without what the page hides, the text of that, and the headings."""
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse(html)
    return tree, remove_hidden_resiliparse(tree, html), resiliparse_headings(tree)


def _structures(html: str) -> tuple[Structure, ...]:
    """The tables and the code, from lxml's tree: that of resiliparse is too slow to walk. Most pages have none."""
    if _STRUCTURED.search(html) is None or MarkupSize.of(html).excess:
        return ()
    try:
        tree = parse_html(html)
    except Unreadable:  # the other parser is less strict
        return ()
    remove_hidden_lxml(tree)
    return html_structures(tree)
