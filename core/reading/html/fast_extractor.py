"""HTML to article, or to all that is seen of it, with resiliparse: about a tenth of the CPU, more of the page's furniture in the text."""

from __future__ import annotations

from core.reading.html.dom_cleaning import remove_hidden_resiliparse
from core.reading.normalization import paragraphs


def fast(html: str) -> tuple[str, str, str]:
    """Text, the name of the extractor that won, and what was hidden."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse(html)
    hidden = remove_hidden_resiliparse(tree, html)
    return paragraphs(extract_plain_text(tree, main_content=True, alt_texts=False)), "resiliparse", hidden


def everything(html: str) -> tuple[str, str, str]:
    """All text that a reader sees, menus and footers too, the name for that, and what was hidden."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse(html)
    hidden = remove_hidden_resiliparse(tree, html)
    text = extract_plain_text(tree, main_content=False, alt_texts=False, list_bullets=False)
    return paragraphs(text), "visible text", hidden
