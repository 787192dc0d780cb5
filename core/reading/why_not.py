"""Why a text of a web page is not in its article: the first rule that removed it, in the order in which they run."""

from enum import StrEnum

from core.model import Document, Extractor, Unreadable
from core.reading import extract


class Absence(StrEnum):
    """What kept a text out of an article."""

    PRESENT = "it is in the article"
    ELSEWHERE = "the page, as it was fetched, does not have it in one block"
    BEYOND = "it is past the size limit of a page"
    HIDDEN = "the page hides it from its readers"
    SILENT = "it is in a script, a form field or another element that is no text of the page"
    AROUND = "it is in navigation, a header, a footer, a form or beside the content"
    LINKS = "most of its block is links"
    REPEATED = "the page repeats it"
    REFUSED = "the page has no article"
    NOT_CHOSEN = "the extractor did not take its block for content"


_AROUND = frozenset({"aside", "footer", "form", "header", "nav"})


def why_not_in_article(document: Document, text: str, extractor: Extractor = Extractor.ACCURATE) -> Absence:
    """What kept a sentence of an HTML page out of the article that this extractor makes of it. White space and case do
    not count. Offline: `document` is the page as it was fetched.

    Raises:
        Unreadable: when no parser reads the page.
    """
    from core.reading.html.dom_cleaning import remove_hidden_lxml
    from core.reading.html.html_parsing import parse_html, truncate_html
    from core.reading.html.text_blocks import page_blocks
    from core.text.decoding import decode

    wanted = _key(text)
    html, _ = truncate_html(whole := decode(document.body, document.charset))
    try:
        article = extract(document, extractor).text
    except Unreadable:
        article = None
    if article and wanted in _key(article):
        return Absence.PRESENT
    tree = parse_html(html)
    if wanted not in _key(" ".join(tree.itertext())):
        beyond = len(whole) > len(html) and wanted in _key(
            " ".join(parse_html(whole[len(html) :]).itertext())
        )
        return Absence.BEYOND if beyond else Absence.ELSEWHERE
    if wanted in _key(remove_hidden_lxml(tree)):
        return Absence.HIDDEN
    blocks = [block for block in page_blocks(tree) if wanted in _key(block.text)]
    if not blocks:
        return Absence.SILENT
    if article is None:
        return Absence.REFUSED
    block = blocks[0]
    if block.element.tag in _AROUND or any(above.tag in _AROUND for above in block.element.iterancestors()):
        return Absence.AROUND
    if 2 * block.linked > len(block.text):
        return Absence.LINKS
    return Absence.REPEATED if len(blocks) > 1 else Absence.NOT_CHOSEN


def _key(text: str) -> str:
    return " ".join(text.split()).casefold()
