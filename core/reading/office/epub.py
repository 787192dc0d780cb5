"""E-books: the chapters of an EPUB in reading order. Their titles are sections."""

import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any
from urllib.parse import unquote

from core.model import Article, SkipReason, StructureKind, Unreadable
from core.reading.file_types import HTML
from core.reading.html.dom_cleaning import remove_hidden_lxml
from core.reading.html.html_parsing import HTML_LIMIT, parse_html, truncate_html
from core.reading.html.rewriting import rewrite_markup
from core.reading.html.rewriting.raised_text import raised_classes
from core.reading.normalization import clean_line
from core.reading.office.package import Package
from core.reading.office.safe_xml import attribute, local
from core.reading.page_parts.whole_text import whole_text
from core.reading.text_builder import TextBuilder
from core.reading.unread import unread_notice
from core.text.decoding import decode

_LARGEST_PART = 20_000_000
_LARGEST_SHEET, _MOST_SHEETS = 1_000_000, 50
_OLDER_CONTENTS = "application/x-dtbncx+xml"
_HEADINGS = ("h1", "h2", "h3")


@dataclass(slots=True)
class _Book:
    facts: dict[str, str] = field(default_factory=dict)
    spine: list[str] = field(default_factory=list)
    """Names of the chapters' files, in reading order."""
    contents: str = ""
    """The name of the table of contents."""


def read_epub(body: bytes) -> Article:
    """All chapters that the book's spine names.

    Raises:
        Unreadable: when it is damaged, locked, too large unpacked, or holds no text.
    """
    package = Package(body)
    book = _book(package)
    _refuse_locked(package, book.spine)
    titles, classes = _titles(package, book.contents), _raised_classes(package)
    out, hidden, cut, unread = TextBuilder(), [], "", Counter[str]()
    for name in book.spine:
        if out.full or name not in package or name == book.contents:
            continue
        # The bytes cover all characters within the limit.
        try:
            markup = decode(package.read(name, _LARGEST_PART)[: 4 * HTML_LIMIT + 4])
            tree = _chapter(markup, classes)
        except Unreadable as error:
            if error.reason is not SkipReason.BROKEN:
                raise
            unread["damaged chapter"] += 1
            continue
        if len(markup) > HTML_LIMIT:
            cut = f"only the first {HTML_LIMIT:,} characters of long chapters were read"
        if tree is None:
            continue
        hidden.append(remove_hidden_lxml(tree))
        out.section(titles.get(name) or _own_title(tree))
        _write_chapter(out, tree)
    facts = book.facts
    article = out.article(
        "epub",
        title=facts.get("title", ""),
        author=facts.get("creator", ""),
        date=facts.get("date", ""),
        language=facts.get("language", ""),
    )
    return replace(
        article,
        hidden="\n".join(filter(None, hidden)),
        left_out=unread_notice(unread, *filter(None, (article.left_out or cut,))),
    )


def _book(package: Package) -> _Book:
    """Return the metadata, spine and contents of a book.

    Raises:
        Unreadable: BROKEN when the book's description is missing, or names no chapters.
    """
    container = package.part("META-INF/container.xml", _LARGEST_PART)
    path = next((attribute(file, "full-path") for file in container.iter("{*}rootfile")), "")
    root = package.part(path, _LARGEST_PART)
    book = _Book()
    for fact in root.findall("{*}metadata/*"):
        book.facts.setdefault(local(fact), fact.text or "")
    files: dict[str, str] = {}
    for item in root.findall("{*}manifest/*"):
        name = _resolved(path, attribute(item, "href"))
        if attribute(item, "media-type") in HTML:
            files[attribute(item, "id")] = name
        newer = "nav" in attribute(item, "properties").split()
        if newer or (attribute(item, "media-type") == _OLDER_CONTENTS and not book.contents):
            book.contents = name
    order = [attribute(item, "idref") for item in root.findall("{*}spine/*")]
    book.spine = list(dict.fromkeys(files[key] for key in order if key in files))
    if not book.spine:
        raise Unreadable(SkipReason.BROKEN, "the book names no chapters")
    return book


def _refuse_locked(package: Package, spine: list[str]) -> None:
    """Refuse a book with encrypted chapters. Fonts may be scrambled in an open book."""
    if "META-INF/encryption.xml" not in package:
        return
    for reference in package.part("META-INF/encryption.xml", _LARGEST_PART).iter("{*}CipherReference"):
        if unquote(attribute(reference, "URI")) in spine:
            raise Unreadable(SkipReason.BROKEN, "the book is locked by its seller (DRM)")


def _titles(package: Package, contents: str) -> dict[str, str]:
    """Return chapter titles by file name, from either kind of contents.

    A damaged table of contents gives no titles.
    """
    if contents not in package:
        return {}
    try:
        root = package.part(contents, _LARGEST_PART)
    except Unreadable:
        return {}
    titles: dict[str, str] = {}
    for target, title in _entries(root):
        titles.setdefault(_resolved(contents, target), clean_line(title, 200))
    return titles


def _entries(root: Any) -> Iterator[tuple[str, str]]:
    for element in root.iter("{*}a", "{*}navPoint"):
        if local(element) == "a":
            label, target = element, attribute(element, "href")
        else:
            label, content = element.find("{*}navLabel"), element.find("{*}content")
            target = "" if content is None else attribute(content, "src")
        if target and label is not None:
            yield target, "".join(map(str, label.itertext()))


def _raised_classes(package: Package) -> dict[str, str]:
    """Return the classes that the style sheets of a book raise or lower. A damaged sheet has none."""
    classes: dict[str, str] = {}
    for name in islice((name for name in package.names if name.lower().endswith(".css")), _MOST_SHEETS):
        with suppress(Unreadable):
            classes |= raised_classes(decode(package.read(name, _LARGEST_SHEET)))
    return classes


def _chapter(markup: str, classes: Mapping[str, str]) -> Any:
    """Return a chapter's tree, or None if empty. Only the part within the limit is parsed."""
    try:
        return parse_html(rewrite_markup(truncate_html(markup)[0], classes))
    except Unreadable as error:
        if error.reason is SkipReason.EMPTY:
            return None
        raise


def _write_chapter(out: TextBuilder, tree: Any) -> None:
    text, spans = whole_text(tree)
    done = 0
    for start, end, kind in (*spans, (len(text), len(text), StructureKind.CODE)):
        for paragraph in text[done:start].split("\n\n"):
            out.block(paragraph)
        if kind is StructureKind.CODE:
            out.code(text[start:end])
        else:
            for line in text[start:end].split("\n"):
                out.block(line, row=True)
        done = end


def _own_title(tree: Any) -> str:
    heading = next((element for element in tree.iter(*_HEADINGS)), None)
    return "" if heading is None else heading.text_content()


def _resolved(base: str, reference: str) -> str:
    """Return the name of the file that a reference means."""
    path = unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), path))
