"""Text formats except HTML: plain text, Markdown, JSON, feeds and other XML, subtitles and notebooks."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import unescape
from itertools import islice
from typing import Any

import lxml.html
from lxml import etree

from core.model import Article, SkipReason, StructureKind, Unreadable
from core.reading.html.text_blocks import block_text
from core.reading.normalization import (
    MAX_CHARACTERS,
    clean_line,
    left_out,
    normalize,
    normalize_code,
    paragraphs,
)
from core.reading.notebooks import is_notebook, notebook_markdown
from core.reading.office.tables import add_table
from core.reading.office.xml_workbook import is_workbook, read_workbook
from core.reading.subtitles import are_subtitles, read_subtitles
from core.reading.text_builder import TextBuilder
from core.reading.xml_references import corrected_references
from core.text.superscripts import lowered, raised

_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.+?)(?:\s+#+)?\s*")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})\s*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_DASHES = re.compile(r"\s*:?-+:?\s*")
_BAR = re.compile(r"(?<!\\)\|")
_NO_PARAGRAPH = re.compile(r"\s*(?:$|[-*+>|#]|\d{1,9}[.)]\s)")
_SCRIPT = re.compile(
    r"(?P<kept>(?P<ticks>`{1,9})(?!`).{1,2000}?(?<!`)(?P=ticks)(?!`)|\$\$.{1,2000}?\$\$|\$[^\s$](?:[^$\n]{0,500}[^\s$\\])?\$(?!\d))"
    r"|<sup>(?P<up>[^<>]{1,200})</sup>|<sub>(?P<down>[^<>]{1,200})</sub>"
    r"|(?<=[\w)])\^(?P<caret>[-+−]?\d{1,9}|[A-Za-z]{1,3})\^(?!\w)"
    r"|(?<=\w)~(?P<tilde>\d{1,9}|[A-Za-z]{1,3}(?=~(?!\w)))~(?!~)",
    re.IGNORECASE | re.DOTALL,
)
"""Superscripts and subscripts as HTML and as Pandoc writes them, outside of code and formulas."""
_MAX_HEADINGS = 5_000
_TITLE_LEVEL = 2
"""Lowest heading level that can name a document."""
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_FRONT_LINE = re.compile(
    r"^(title|author|date|lang|language)[^\S\n]*:[^\S\n]*[\"']?(.*?)[\"']?[^\S\n]*$", re.MULTILINE
)
_JSON_FEED = re.compile(r"https?://(?:www\.)?jsonfeed\.org/version/")
_ENTRY_TEXTS = ("title", "description", "summary", "encoded", "content")
_LONGEST_JSON_LINES = 50_000
_SECTION_MARKS = ("<![CDATA[", "]]>")
_GAP = object()


def read_text(text: str) -> Article:
    """Read plain text, up to `MAX_CHARACTERS`. Subtitles are read as what is spoken."""
    if are_subtitles(text):
        return read_subtitles(text)
    return Article(
        text=normalize(text[:MAX_CHARACTERS]), extractor="plain text", left_out=left_out(len(text))
    )


def read_markdown(text: str) -> Article:
    """Read Markdown as written. Its headings are sections.

    The title is in the front matter or in a heading.
    """
    length = len(text)
    text = text[:MAX_CHARACTERS].lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT_MATTER.match(text)
    facts = dict(_FRONT_LINE.findall(normalize(front[0]))) if front else {}
    text, structures = _structured(text[front.end() :] if front else text)
    headings = list(islice(_headings(text), _MAX_HEADINGS))
    first = next((words for _, level, words in headings if level <= _TITLE_LEVEL), "")
    return Article(
        text=text,
        extractor="markdown",
        title=clean_line(facts.get("title")) or first,
        author=clean_line(facts.get("author")),
        date=clean_line(facts.get("date"), 10),
        language=clean_line(facts.get("lang") or facts.get("language"), 2),
        sections=tuple((start, words) for start, _, words in headings),
        structures=structures,
        left_out=left_out(length),
    )


def _structured(text: str) -> tuple[str, tuple[tuple[int, int, StructureKind], ...]]:
    """Return Markdown as normalized text, with its code and table spans.

    Code is fenced, and stays as written. Table rows get the names of their columns.
    """
    parts: list[str] = []
    structures: list[tuple[int, int, StructureKind]] = []
    length = 0
    for kind, written in _parts(text.split("\n")):
        lines = (
            written if kind is StructureKind.CODE else _SCRIPT.sub(_script, "\n".join(written)).split("\n")
        )
        if kind is StructureKind.TABLE:
            table = TextBuilder()
            add_table(table, map(_cells, (lines[0], *lines[2:])), headed=True)
            part = table.article("").text
        else:
            part = (normalize_code if kind else normalize)("\n".join(lines))
        if not part:
            continue
        length += 2 if parts else 0
        if kind:
            structures.append((length, length + len(part), kind))
        parts.append(part)
        length += len(part)
    return "\n\n".join(parts), tuple(structures)


def _script(match: re.Match[str]) -> str:
    if match["kept"]:
        return match["kept"]
    up, down = match["up"] or match["caret"], match["down"] or match["tilde"]
    return raised(up) if up else lowered(down)


def _parts(lines: Sequence[str]) -> Iterator[tuple[StructureKind | None, list[str]]]:
    """Yield the lines of code blocks, tables, and the parts between.

    A code block has its fences. A table is in GitHub's extension of CommonMark: a row of heads, a row of
    dashes, and rows up to a line without a bar.
    """
    part: list[str] = []
    place = 0
    while place < len(lines):
        start, fence, kind = place, _FENCE.match(lines[place]), None
        if fence:
            kind, place = StructureKind.CODE, place + 1
            while place < len(lines) and not _closes(lines[place], fence[1]):
                place += 1
            place += 1
        elif "|" in lines[place] and place + 1 < len(lines) and _is_delimiter_row(lines[place + 1]):
            kind, place = StructureKind.TABLE, place + 2
            while place < len(lines) and "|" in lines[place]:
                place += 1
        if kind:
            yield None, part
            yield kind, list(lines[start:place])
            part = []
        else:
            part.append(lines[place])
            place += 1
    yield None, part


def _is_delimiter_row(line: str) -> bool:
    """Whether a line separates a table's heads from its rows. The bar at either end is optional."""
    *cells, last = line.strip().removeprefix("|").split("|")
    return "|" in line and all(map(_DASHES.fullmatch, cells if not last else (*cells, last)))


def _closes(line: str, fence: str) -> bool:
    """Whether a line closes a code block opened by this fence."""
    mark = _FENCE.match(line)
    return mark is not None and mark[1].startswith(fence) and not line[mark.end() :].strip()


def _cells(row: str) -> list[str]:
    """The cells of a row of a table. A bar after a backslash is part of its cell."""
    return [cell.replace("\\|", "|") for cell in _BAR.split(row.strip().strip("|"))]


def _headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the offset, level and words of each heading.

    Both kinds count, with `#` and underlined, but not inside code fences. CommonMark's rules for headings
    apply (0.31, sections 4.2 and 4.3), except inside quotes and lists, and for underlined headings of several
    lines, which count with their last line.
    """
    fence, end, paragraph = "", 0, False
    before = 0
    for line in text.split("\n"):
        start, end = end, end + len(line) + 1
        mark = _FENCE.match(line)
        if fence:
            if _closes(line, fence):
                fence = ""
        elif mark:
            fence, paragraph = mark[1], False
        elif heading := _HEADING.fullmatch(line):
            yield start, len(heading[1]), clean_line(heading[2])
            paragraph = False
        elif paragraph and _UNDERLINE.fullmatch(line):
            yield before, 1 if "=" in line else 2, clean_line(text[before:start])
            paragraph = False
        else:
            before, paragraph = start, not _NO_PARAGRAPH.match(line)


def read_json(text: str) -> Article:
    """Read JSON as lines of `path: value`, and a notebook as Markdown.

    Blank lines separate the objects of a list.

    Raises:
        Unreadable: BROKEN when it is no JSON.
    """
    value = _json_value(text)
    if is_notebook(value):
        return replace(read_markdown(notebook_markdown(value)), extractor="notebook")
    if isinstance(value, dict) and _JSON_FEED.match(str(value.get("version"))):
        return _json_feed(value)
    rest = _json_lines(value)
    lines = list(islice(rest, _LONGEST_JSON_LINES))
    more = next(rest, None) is not None
    title = value.get("title") or value.get("name") if isinstance(value, dict) else ""
    joined = "\n".join(lines)
    return Article(
        text=normalize(joined[:MAX_CHARACTERS]),
        extractor="json",
        title=clean_line(title),
        left_out=f"only the first {len(lines):,} values were read" if more else left_out(len(joined)),
    )


def _json_value(text: str) -> Any:
    """Return the value of JSON, or the values of its lines as a list (JSON Lines).

    Raises:
        Unreadable: BROKEN when it is neither.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            if len(lines) > 1:
                return [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            pass
        raise Unreadable(SkipReason.BROKEN, "not valid JSON") from error


def _json_feed(feed: dict[str, Any]) -> Article:
    """Read the entries of a JSON Feed (jsonfeed.org)."""
    items = feed.get("items")
    texts = (
        _json_entry(item) for item in (items if isinstance(items, list) else []) if isinstance(item, dict)
    )
    text = normalize("\n\n".join(filter(None, texts)))
    return Article(
        text=text[:MAX_CHARACTERS],
        extractor="feed",
        title=clean_line(feed.get("title")),
        left_out=left_out(len(text)),
    )


def _json_entry(item: dict[str, Any]) -> str:
    title, text, html, summary = (
        item.get(name) for name in ("title", "content_text", "content_html", "summary")
    )
    body = text or (_html_text(html) if isinstance(html, str) else summary)
    return "\n\n".join(part for part in (title, body) if isinstance(part, str) and part.strip())


def read_xml(text: str) -> Article:
    """Read a feed's entries, the sheets of a workbook, or any other XML's text.

    Entries have titles and texts.

    Raises:
        Unreadable: BROKEN when it cannot be parsed.
    """
    root = _xml_root(text)
    if is_workbook(root):
        return replace(read_workbook(root), left_out=left_out(len(text)))
    entries = [element for element in root.iter() if _name(element) in ("item", "entry")]
    if not entries:
        return Article(
            text=paragraphs("\n".join(" ".join(piece.split()) for piece in root.itertext())),
            extractor="xml",
            left_out=left_out(len(text)),
        )
    title = next(
        (
            _entry_text(child)
            for element in root.iter()
            if _name(element) in ("channel", "feed")
            for child in element
            if _name(child) == "title"
        ),
        "",
    )
    texts = ("\n\n".join(_entry_texts(entry)) for entry in entries)
    return Article(
        text=normalize("\n\n".join(filter(None, texts))),
        extractor="feed",
        title=clean_line(title),
        left_out=left_out(len(text)),
    )


def _json_lines(root: Any) -> Iterator[str]:
    """Yield JSON as lines, depth first. It does not recurse, because hostile input may nest deeply."""
    stack: list[tuple[str, Any]] = [("", root)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            stack.extend(
                (f"{path}.{key}" if path else str(key), inner) for key, inner in reversed(value.items())
            )
        elif isinstance(value, list):
            if value and isinstance(value[0], dict):
                for inner in reversed(value):
                    stack.extend(((path, inner), ("", _GAP)))
            else:
                stack.extend((path, inner) for inner in reversed(value))
        elif value is _GAP:
            yield ""
        elif value is not None and value != "":
            text = json.dumps(value) if isinstance(value, bool | int | float) else str(value)
            yield f"{path}: {text}" if path else text


def _xml_root(text: str) -> Any:
    """Parse XML without expanding entities or fetching anything. Damage is tolerated like in feed readers."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=True,
        encoding="utf-8",
    )
    text = re.sub(r"\A\s*<\?xml[^>]*>", "", text[:MAX_CHARACTERS])
    try:
        root = etree.fromstring(corrected_references(text.encode("utf-8", errors="ignore")), parser)
    except (etree.LxmlError, ValueError) as error:
        raise Unreadable(SkipReason.BROKEN, "not valid XML") from error
    if root is None:
        raise Unreadable(SkipReason.BROKEN, "not valid XML")
    return root


def _name(element: Any) -> str:
    """Its local name in lower case. A prefix that was never declared is part of the tag, not a namespace."""
    return re.split("[}:]", element.tag)[-1].lower() if isinstance(element.tag, str) else ""


def _entry_texts(entry: Any) -> Iterator[str]:
    texts: dict[str, str] = {}
    for child in entry:
        name = _name(child)
        if name in _ENTRY_TEXTS and name not in texts:
            texts[name] = _entry_text(child)
    if title := texts.pop("title", ""):
        yield title
    if longest := max(texts.values(), key=len, default=""):
        yield longest


def _entry_text(element: Any) -> str:
    if len(element):  # markup of its own, as XHTML in Atom
        for inner in element.iter():
            inner.tag = _name(inner) or inner.tag
        return paragraphs(block_text(element))
    raw = "".join(element.itertext())
    return normalize(raw) if element.get("type") == "text" else _html_text(raw)


def _html_text(raw: str) -> str:
    """Return the text of HTML, which may have no more markup than references."""
    for mark in _SECTION_MARKS:  # escaped with the text, they are no marks of the feed
        raw = raw.replace(mark, "")
    if "<" not in raw:
        return normalize(unescape(raw))
    try:
        return paragraphs(block_text(lxml.html.fragment_fromstring(raw[:200_000], create_parent="div")))
    except (etree.LxmlError, ValueError):
        return normalize(raw)
