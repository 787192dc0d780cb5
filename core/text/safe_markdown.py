"""The one way in which words of models and web pages reach the screen: as words, and nothing that acts.

What comes out is Markdown for Streamlit (CommonMark, GFM tables, and Streamlit's own directives), made anew
from the tokens of what came in. The only links in it are citations of the run's own sources.
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from core.text.citations import find_citations, short_marks
from core.text.sanitize import one_line, sanitize

LIMIT = 60_000
"""The longest text that is shown, in characters."""

MOST_COLUMNS = 12
MOST_ROWS = 200
_JOINER = "\u2060"
"""Word joiner: no width, no break. It keeps `:name:` from being taken for an emoji or an icon."""

_EMPTY = "\u200b"
"""Stands in a list item or quote that holds nothing."""

# An address that a Markdown viewer would turn into a link by itself, whatever stands before it, and any
# other scheme. A viewer looks for these after it has resolved escapes, so escaping them is not enough.
_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]{0,20}://|www\.)[^\s`]*|[-.\w+]{1,64}@[-\w]+(?:\.[-\w]+)+", re.IGNORECASE
)
_AFTER_ADDRESS = ".,;:!?)]}'\"*_~"
_SHORTCODE = re.compile(r":(?=[\w+\-/]+:)")
_ESCAPED = re.compile(r"([\\`*_{}\[\]()<>#+!|~$:&@^=-]|(?<=\d)\.)")
# Runs of marks have no meaning to a reader; parsers and layouts pay for them more than once.
_RUN = re.compile(r"([\[\]()!*_~<>|#`\\$:{}^=+-])\1{24,}")
_DEEP_LINE = re.compile(r"^[ \t]*+(?:(?:[>*+-]|\d{1,9}[.)])[ \t]*+){9,}", re.MULTILINE)
_MANY_BRACKETS = re.compile(r"^(?=(?:[^\n\[]*\[){200})[^\n]*$", re.MULTILINE)


def safe_markdown(text: str, known: int = 0) -> str:
    """`text` as Markdown that cannot act, with citations of sources 1 to `known` as `[n]`, linked to `#src-n`.

    Headings, lists, quotes, tables, emphasis and code keep their form. Raw HTML, entities and directives
    are shown as they were typed. Links and images become their words with the address as code; so do bare
    addresses. Numbers that no source has are struck through. Reference definitions define nothing.
    """
    text = "\n".join(map(_line, text.splitlines())).strip("\n")
    cut = len(text) > LIMIT
    text = _tamed(short_marks(text[:LIMIT]) if known else text[:LIMIT])
    text = _MANY_BRACKETS.sub(lambda line: re.sub(r"\[(?!\^?\d{1,4}[\],])", "(", line[0]), text)
    text = _DEEP_LINE.sub("- ", text)
    blocks = _Blocks(_parser().parse(text), known).written()
    return f"{blocks}\n\n*Cut here: the text is longer than {LIMIT:,} characters.*" if cut else blocks


def markdown_label(text: str, limit: int = 200) -> str:
    """`text` on one line, as literal words inside a Markdown label."""
    return "".join(_words(one_line(text, limit), 0))


def escape_html(text: str) -> str:
    """`text` as literal words inside HTML, in element content or a quoted attribute."""
    return html.escape(sanitize(text), quote=True)


def web_address(url: str) -> str:
    """`url` when a browser may be sent there at a person's click, else an empty string."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    fine = parts.scheme in ("http", "https") and parts.hostname and not re.search(r"[\s\x00-\x1f\x7f\\]", url)
    return url if fine else ""


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False})
    return parser.enable(["table", "strikethrough"]).disable(["reference", "html_block", "html_inline"])


class _Blocks:
    """Writes block tokens. Every line of a block starts with the marks of the blocks around it."""

    def __init__(self, tokens: Sequence[Token], known: int) -> None:
        self._tokens = iter(tokens)
        self._known = known
        self._tight = False

    def written(self) -> str:
        return "\n\n".join(self._until(""))

    def _until(self, closing: str) -> Iterator[str]:
        """The blocks before the token `closing`, each without a line end."""
        for token in self._tokens:
            if token.type == closing:
                return
            yield self._block(token)

    def _block(self, token: Token) -> str:
        match token.type:
            case "paragraph_open":
                text = self._inline()
                self._tight = token.hidden
                return text
            case "heading_open":
                level = min(int(token.tag[1]) + 2, 6)
                return f"{'#' * level} {self._inline()}"
            case "blockquote_open":
                return _prefixed("\n\n".join(self._until("blockquote_close")) or _EMPTY, "> ", "> ")
            case "bullet_list_open":
                return self._list("bullet_list_close")
            case "ordered_list_open":
                return self._list("ordered_list_close", int(token.attrGet("start") or 1))
            case "fence" | "code_block":
                return _code_block(token.content)
            case "hr":
                return "***"
            case "table_open":
                return self._table()
            case _:
                return ""

    def _inline(self) -> str:
        """The text up to the end of a paragraph, heading or cell."""
        token = next(self._tokens)
        next(self._tokens)
        return _inline(token.children or (), self._known)

    def _list(self, closing: str, start: int | None = None) -> str:
        items: list[str] = []
        gap = "\n"
        for token in self._tokens:
            if token.type == closing:
                break
            self._tight = False
            blocks = [block for block in self._until("list_item_close") if block]
            gap = "\n" if self._tight else "\n\n"
            mark = "-" if start is None else f"{min(start + len(items), 999_999_999)}."
            items.append(_prefixed(gap.join(blocks) or _EMPTY, f"{mark} ", " " * (len(mark) + 1)))
        return gap.join(items)

    def _table(self) -> str:
        rows: list[list[str]] = [[]]
        for token in self._tokens:
            if token.type == "table_close":
                break
            if token.type in ("th_open", "td_open"):
                rows[-1].append(self._inline().replace("\n", " "))
            elif token.type == "tr_close":
                rows.append([])
        rows = [row[:MOST_COLUMNS] for row in rows if row][: MOST_ROWS + 1] or [[_EMPTY]]
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        lines.insert(1, "|" + " --- |" * len(rows[0]))
        return "\n".join(lines)


def _prefixed(body: str, first: str, others: str) -> str:
    lines = body.split("\n")
    rest = (others + line if line or others.strip() else "" for line in lines[1:])
    return "\n".join([first + lines[0], *rest])


def _code_block(code: str) -> str:
    # Without the language: some viewers draw diagrams from blocks that ask for it.
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", code)), default=0))
    return f"{fence}text\n{code.rstrip(chr(10))}\n{fence}"


def _inline(tokens: Sequence[Token], known: int) -> str:
    """Words are gathered across tokens that vanish, so that no address can be put together from pieces."""
    out: list[str] = []
    words: list[str] = []
    targets: list[tuple[str, int]] = []

    def mark(text: str) -> None:
        out.extend(_words("".join(words), known))
        words.clear()
        out.append(text)

    for token in tokens:
        match token.type:
            case "text":
                words.append(token.content)
            case "softbreak":
                words.append("\n")
            case "hardbreak":
                mark("\\\n")
            case "code_inline":
                mark(_code(token.content))
            case "strong_open" | "strong_close":
                mark("**")
            case "em_open" | "em_close":
                mark("*")
            case "s_open" | "s_close":
                mark("~~")
            case "image":
                mark(_aside(token.content, token.attrGet("src")))
            case "link_open":
                targets.append((str(token.attrGet("href") or ""), len(words)))
            case "link_close":
                target, start = targets.pop()
                if target and "".join(words[start:]).strip() != target:
                    mark(f" ({_code(target)})")
            case _:
                words.append(token.content)
    out.extend(_words("".join(words), known))
    return _tidy("".join(out))


def _aside(label: str, target: object) -> str:
    """An image as its words and, as code, its address."""
    return f"{''.join(_words(label, 0))} ({_code(str(target or ''))})"


def _tidy(line: str) -> str:
    """Nothing at the start of a line may begin another block: marks are escaped already, digits are not."""
    return re.sub(r"^(\s*\d{1,9})([.)])", r"\1\\\2", line, flags=re.MULTILINE)


def _words(text: str, known: int) -> Iterator[str]:
    """Text as literal Markdown, citations linked, addresses as code."""
    at = 0
    for found in _ADDRESS.finditer(text):
        address = found[0].rstrip(_AFTER_ADDRESS)
        if not address:
            continue
        yield from _cited(text[at : found.start()], known)
        yield _code(address)
        at = found.start() + len(address)
    yield from _cited(text[at:], known)


def _cited(text: str, known: int) -> Iterator[str]:
    at = 0
    marks = tuple(find_citations(text, known)) if known and ("[" in text or "【" in text) else ()
    for mark in marks:
        if mark.start >= at:
            yield _literal(text[at : mark.start].rstrip(" "))
            at = mark.end
        yield f"[{mark.number}](#src-{mark.number})" if mark.known else f" ~~\\[{mark.number}\\]~~"
    yield _literal(text[at:])


def _literal(text: str) -> str:
    return _ESCAPED.sub(r"\\\1", _SHORTCODE.sub(f":{_JOINER}", _tamed(text)))


def _tamed(text: str) -> str:
    return _RUN.sub(lambda run: run[1] * 24, text)


def _line(line: str) -> str:
    """A line without what a reader cannot see. Its indentation and its hard break stay: they mean something."""
    inner = sanitize(line)
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    return f"{indent}{inner}{'  ' if line.endswith('  ') else ''}" if inner else ""


def _code(text: str) -> str:
    """An inline code span on one line. Nothing inside it is read as anything."""
    text = " ".join(text.split())[:500].replace(":material/", f":{_JOINER}material/")
    ticks = "`" * (1 + max(map(len, re.findall(r"`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}" if text else ""
