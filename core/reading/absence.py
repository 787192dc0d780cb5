"""Why a text of a web page is missing in its article. The reason is the first rule that removed it."""

from enum import StrEnum

from core.model import Document, Extractor, Unreadable
from core.reading import extract
from core.reading.normalization import text_key

_AROUND = frozenset({"aside", "footer", "form", "header", "nav"})


class Absence(StrEnum):
    """What kept a text out of an article."""

    PRESENT = "the article has these words, here or at another place"
    ELSEWHERE = "the page, as it was fetched, does not have it in one block"
    BEYOND = "it is past the size limit of a page"
    HIDDEN = "the page hides it from its readers"
    SILENT = "it is in a script, a form field or another element that is no text of the page"
    AROUND = "it is in navigation, a header, a footer, a form or beside the content"
    LINKS = "most of its block is links"
    REPEATED = "the page repeats it"
    REFUSED = "the page has no article"
    NOT_CHOSEN = "the extractor did not take its block for content"

    @property
    def can_be_kept(self) -> bool:
        """Whether the page has a block with the text. A person can keep that block in its article."""
        return self in _BLOCKS

    @property
    def sentence(self) -> str:
        """The reason as a sentence, and whether the text cannot be kept."""
        more = "" if self.can_be_kept or self is Absence.PRESENT else " It cannot be kept."
        return f"{self[0].upper()}{self[1:]}.{more}"


_BLOCKS = frozenset({
    Absence.HIDDEN, Absence.AROUND, Absence.LINKS, Absence.REPEATED, Absence.NOT_CHOSEN,
})  # fmt: skip


def absence_from_article(document: Document, text: str, extractor: Extractor = Extractor.ACCURATE) -> Absence:
    """Return why a sentence is missing in this extractor's article.

    White space, marks and case do not count. Nothing is fetched: `document` is the page as fetched earlier.

    Raises:
        Unreadable: when no parser reads the page.
    """
    from core.reading.html.dom_cleaning import remove_hidden_lxml
    from core.reading.html.html_parsing import parse_html, truncate_html
    from core.reading.html.rewriting import rewrite_markup
    from core.reading.html.text_blocks import page_blocks
    from core.reading.page_parts.kept_blocks import written_block
    from core.text.decoding import decode

    wanted = text_key(text)
    cut, _ = truncate_html(whole := decode(document.body, document.charset))
    try:
        article = extract(document, extractor).text
    except Unreadable:
        article = None
    if article and wanted and wanted in text_key(article):
        return Absence.PRESENT
    tree = parse_html(rewrite_markup(cut))
    texts = "".join(tree.itertext()), *(block.text for block in page_blocks(tree))
    if not wanted or not any(wanted in text_key(part) for part in texts):
        if not wanted or len(whole) == len(cut):
            return Absence.ELSEWHERE
        rest = "".join(parse_html(whole[len(cut) :]).itertext())
        return Absence.BEYOND if wanted in text_key(rest) else Absence.ELSEWHERE
    hidden = remove_hidden_lxml(tree)
    blocks = [block for block in page_blocks(tree) if wanted in text_key(block.text)]
    if not blocks:
        texts = hidden, *texts[1:]
        return Absence.HIDDEN if any(wanted in text_key(part) for part in texts) else Absence.SILENT
    if article is None:
        return Absence.REFUSED
    block = blocks[0]
    if text_key(written_block(block)[0]) in text_key(article):
        return Absence.PRESENT
    if block.element.tag in _AROUND or any(above.tag in _AROUND for above in block.element.iterancestors()):
        return Absence.AROUND
    if 2 * block.linked > len(block.text):
        return Absence.LINKS
    return Absence.REPEATED if len(blocks) > 1 else Absence.NOT_CHOSEN
