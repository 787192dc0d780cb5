"""Article extraction with resiliparse: faster, but with more menus.

It takes a tenth of the accurate extractor's CPU. Footers stay in the text too.
"""

import re
from typing import Any

from core.model import Unreadable
from core.reading.html.dom_cleaning import remove_hidden_lxml, remove_hidden_resiliparse
from core.reading.html.extraction import Extraction
from core.reading.html.headings import resiliparse_headings
from core.reading.html.html_parsing import MarkupSize, parse_html
from core.reading.html.text_blocks import page_blocks
from core.reading.normalization import paragraphs
from core.reading.page_parts.repeated_parts import Lists, html_posts
from core.reading.page_parts.structures import Structure, html_structures

_PARTS = re.compile(
    r"<(?:table|pre|code)|schema\.org/\w*(?:Comment|Answer|Posting)|(?:post|comment|reply)\b[^<>]*>",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"<(/?)fig(?:ure|caption)\b", re.IGNORECASE)


def extract_fast(html: str) -> Extraction:
    """The article's text."""
    return _extraction(html, "resiliparse", main_content=True)


def extract_visible_text(html: str) -> Extraction:
    """All visible text, menus and footers too."""
    # resiliparse leaves out figures together with the texts for pictures that are not shown.
    html = _FIGURE.sub(r"<\1div", html)
    return _extraction(html, "visible text", main_content=False, list_bullets=False)


def _extraction(html: str, extractor: str, **options: Any) -> Extraction:
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse(html)
    hidden, headings = remove_hidden_resiliparse(tree, html), resiliparse_headings(tree)
    text = paragraphs(extract_plain_text(tree, alt_texts=False, noscript=True, **options))
    structures, posts = _parts(html)
    return Extraction(
        text=text, extractor=extractor, hidden=hidden, headings=headings, structures=structures, parts=posts
    )


def _parts(html: str) -> tuple[tuple[Structure, ...], Lists]:
    """Return the tables, code and posts of a page, from lxml's tree.

    Resiliparse's tree is too slow to walk. Most pages have none of these.
    """
    if _PARTS.search(html) is None or MarkupSize.of(html).excess:
        return (), ()
    try:
        tree = parse_html(html)
    except Unreadable:  # the other parser is less strict
        return (), ()
    remove_hidden_lxml(tree)
    return html_structures(tree), html_posts(tree, page_blocks(tree))
