"""Presentations: the text of a .pptx slide by slide. A slide counts as a page, its title as a section."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from core.model import Article
from core.reading.office.docx import UNPACKED_LIMIT, core_facts, part
from core.reading.office.safe_xml import attribute, child, local
from core.reading.text_builder import TextBuilder
from core.reading.zip_archive import Archive

_TITLES = ("title", "ctrTitle")


def read_pptx(body: bytes) -> Article:
    """Raises Unreadable: when it is damaged, locked, too large unpacked, or holds no text."""
    archive = Archive(body, UNPACKED_LIMIT)
    facts, out = core_facts(archive), TextBuilder()
    for name in _slides(archive):
        out.page()
        tree = part(archive, name)
        out.section(next(filter(None, map(_title, _all(tree, "sp"))), ""))
        for element in tree.iter():
            if local(element) == "tr":
                out.block(" | ".join(" ".join(_text(cell).split()) for cell in _all(element, "tc")), row=True)
            elif local(element) == "p" and not any(local(above) == "tc" for above in element.iterancestors()):
                out.block(_text(element))
    return out.article("pptx", title=facts["title"], author=facts["creator"], date=facts["created"])


def related(archive: Archive, name: str) -> dict[str, str]:
    """The files that a part of an office file refers to, by the references' ids."""
    folder, file = posixpath.split(name)
    relations = f"{folder}/_rels/{file}.rels"
    if relations not in archive:
        return {}
    targets = {attribute(one, "Id"): attribute(one, "Target") for one in part(archive, relations)}
    return {
        key: posixpath.normpath(posixpath.join("/" if target.startswith("/") else folder, target)).lstrip("/")
        for key, target in targets.items()
    }


def _slides(archive: Archive) -> Iterator[str]:
    """In the order of the show, which the files' names need not follow."""
    name = "ppt/presentation.xml"
    targets = related(archive, name)
    for slide in _all(part(archive, name), "sldId"):
        references = [value for key, value in slide.attrib.items() if str(key).endswith("}id")]
        if references and (file := targets.get(str(references[0]), "")) in archive:
            yield file


def _title(shape: Any) -> str:
    place = child(child(child(shape, "nvSpPr"), "nvPr"), "ph")
    return _text(shape) if place is not None and attribute(place, "type") in _TITLES else ""


def _text(element: Any) -> str:
    pieces = ((inner.text or "") if local(inner) == "t" else "\n" for inner in _all(element, "t", "br"))
    return "".join(pieces)


def _all(element: Any, *names: str) -> Iterator[Any]:
    return (inner for inner in element.iter() if local(inner) in names)
