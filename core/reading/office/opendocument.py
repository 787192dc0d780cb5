"""OpenDocument texts: the paragraphs and tables of an .odt. Its headings are sections."""

from typing import Any

from lxml import etree

from core.model import Article, SkipReason, Unreadable
from core.reading.office.package import Package
from core.reading.office.safe_xml import blocks, local
from core.reading.office.tables import add_table
from core.reading.text_builder import TextBuilder

_SILENT = (
    "tracked-changes", "annotation", "sequence-decls", "table-of-content", "note-citation", "ruby-text",
)  # fmt: skip
_BETWEEN = {"tab": " ", "line-break": "\n", "s": " "}


def read_odt(body: bytes) -> Article:
    """Read an .odt. Raises Unreadable: when it is damaged, locked, too large unpacked, or holds no text."""
    package = Package(body)
    manifest = "META-INF/manifest.xml"
    if manifest in package and next(package.part(manifest).iter("{*}encryption-data"), None) is not None:
        raise Unreadable(SkipReason.BROKEN, "it is locked with a password")
    text = package.part("content.xml").find("{*}body/{*}text")
    if text is None:
        raise Unreadable(SkipReason.BROKEN, "the document has no body")
    out, first = TextBuilder(), ""
    for block in blocks(text, ("h", "p", "table"), _SILENT):
        if local(block) == "table":
            rows = (
                [_text(cell) for cell in row.findall("{*}table-cell")]
                for row in blocks(block, ("table-row",))
            )
            add_table(out, rows, headed=block.find("{*}table-header-rows") is not None)
            continue
        words = _text(block)
        if local(block) == "h":
            first = first or words
            out.section(words)
        listed = local(block) == "p" and next(block.iterancestors("{*}list-item"), None) is not None
        out.block(f"- {words}" if listed and words.strip() else words)
    facts = package.facts("meta.xml", "title", "creator", "date", "language")
    return out.article(
        "odt",
        title=facts["title"] or first,
        author=facts["creator"],
        date=facts["date"],
        language=facts["language"],
    )


def _text(element: Any) -> str:
    pieces: list[str] = []
    walk = etree.iterwalk(element, events=("start", "end"))
    for event, inner in walk:
        if event == "end":
            pieces += (" " if local(inner) == "p" else "", (inner.tail or "") if inner is not element else "")
        elif local(inner) in _SILENT:
            walk.skip_subtree()
        else:
            pieces += (_BETWEEN.get(local(inner), ""), inner.text or "")
    return "".join(pieces)
