"""OpenDocument texts: the paragraphs and tables of an .odt, with its headings as sections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from core.model import Article, SkipReason, Unreadable
from core.reading.office.docx import UNPACKED_LIMIT, part
from core.reading.office.safe_xml import child, local
from core.reading.text_builder import TextBuilder
from core.reading.zip_archive import Archive

_SILENT = (
    "tracked-changes",
    "annotation",
    "sequence-decls",
    "table-of-content",
    "note-citation",
    "ruby-text",
)
_BETWEEN = {"tab": " ", "line-break": "\n", "s": " "}
_FACTS = ("title", "creator", "date", "language")


def read_odt(body: bytes) -> Article:
    """Raises Unreadable: when it is damaged, locked, too large unpacked, or holds no text."""
    archive = Archive(body, UNPACKED_LIMIT)
    manifest = "META-INF/manifest.xml"
    if manifest in archive and any(local(one) == "encryption-data" for one in part(archive, manifest).iter()):
        raise Unreadable(SkipReason.BROKEN, "it is locked with a password")
    text = child(child(part(archive, "content.xml"), "body"), "text")
    if text is None:
        raise Unreadable(SkipReason.BROKEN, "the document has no body")
    out, first = TextBuilder(), ""
    for block in _blocks(text):
        if local(block) == "table-row":
            cells = (cell for cell in block if local(cell) == "table-cell")
            out.block(" | ".join(filter(None, (" ".join(_text(cell).split()) for cell in cells))), row=True)
            continue
        words = _text(block)
        if local(block) == "h":
            first = first or words
            out.section(words)
        out.block(f"- {words}" if _listed(block) and words.strip() else words)
    facts = _facts(archive)
    return out.article(
        "odt",
        title=facts["title"] or first,
        author=facts["creator"],
        date=facts["date"],
        language=facts["language"],
    )


def _facts(archive: Archive) -> dict[str, str]:
    facts = dict.fromkeys(_FACTS, "")
    if "meta.xml" in archive:
        for element in part(archive, "meta.xml").iter():
            if local(element) in facts:
                facts[local(element)] = element.text or ""
    return facts


def _blocks(parent: Any) -> Iterator[Any]:
    """Headings, paragraphs and rows in order; what stands in a row's cells is left to the row."""
    stack = list(reversed(parent))
    while stack:
        element = stack.pop()
        if local(element) in ("h", "p", "table-row"):
            yield element
        elif local(element) not in _SILENT:
            stack.extend(reversed(element))


def _text(element: Any) -> str:
    pieces: list[str] = []
    stack: list[tuple[Any, bool]] = [(element, False)]
    while stack:
        inner, leaving = stack.pop()
        if leaving or local(inner) in _SILENT or not local(inner):
            if leaving and local(inner) == "p":
                pieces.append(" ")
            pieces.append((inner.tail or "") if inner is not element else "")
            continue
        pieces.append(_BETWEEN.get(local(inner), ""))
        pieces.append(inner.text or "")
        stack.append((inner, True))
        stack.extend((below, False) for below in reversed(inner))
    return "".join(pieces)


def _listed(block: Any) -> bool:
    return local(block) == "p" and any(local(above) == "list-item" for above in block.iterancestors())
