"""Untrusted Markdown of models and web pages as inactive Markdown for the screen.

The output is Markdown for Streamlit (CommonMark, GFM tables, and Streamlit's own directives), rewritten from the tokens
of the input. All untrusted text must pass here. Its only links are citations of the run's own sources.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from urllib.parse import urlsplit

from markdown_it.token import Token

from core.text.markdown.blocks import EMPHASIS, BlockStyle, code_span, rewritten
from core.text.markdown.citations import citation_label, find_citations
from core.text.markdown.tokens import shortened_runs
from core.text.sanitize import one_line

_JOINER = "\u2060"
"""Word joiner, without width or break. It prevents `:name:` from becoming an emoji or an icon."""

# An address that a Markdown viewer would link by itself, after any text, and any other scheme. Viewers look for
# addresses after resolving escapes, so escaping is not enough. A model's name with its host, such as
# model@127.0.0.1:8080, is no mail address; `_literal` handles it.
_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]{0,20}://|www\.)[^\s`]*|[-.\w+]{1,64}@(?!(?:\d{1,3}\.){3}\d)[-\w]+(?:\.[-\w]+)+(?!:\d|[-\w])",
    re.IGNORECASE,
)
_AFTER_ADDRESS = ".,;:!?)]}'\"*_~"
_SHORTCODE = re.compile(r":(?=[\w+\-/]+:)")
_ESCAPED = re.compile(r"([\\`*_{}\[\]()<>#+!|~$:&@^=-]|(?<=\d)\.)")


def safe_markdown(text: str, numbers: Collection[int] = (), snippets: Collection[int] = ()) -> str:
    """Return `text` as inactive Markdown with linked citations.

    Headings, lists, quotes, tables, emphasis and code keep their form. Raw HTML, entities and directives are shown as
    typed. Links and images become their words with the address as code, and bare addresses become code. Citations of
    `snippets`, sources known only by a snippet, are labelled. Numbers outside `numbers` are struck through. Reference
    definitions define nothing.
    """
    style = BlockStyle(inline=lambda tokens: _inline(tokens, numbers, snippets), paragraph=_escape_numbers)
    return rewritten(text, style, numbers=numbers or None)


def markdown_label(text: str, limit: int = 200) -> str:
    """Return `text` on one line, as literal words for a Markdown label."""
    return "".join(_words(one_line(text, limit), ()))


def web_address(url: str) -> str:
    """Return `url` if browsers may open it, else ""."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    fine = parts.scheme in ("http", "https") and parts.hostname and not re.search(r"[\s\x00-\x1f\x7f\\]", url)
    return url if fine else ""


def _inline(tokens: Sequence[Token], numbers: Collection[int], snippets: Collection[int]) -> str:
    """Return inline Markdown.

    Words are joined across vanishing tokens, so that no address can be assembled from pieces.
    """
    out: list[str] = []
    words: list[str] = []
    targets: list[tuple[str, int]] = []

    def mark(text: str) -> None:
        out.extend(_words("".join(words), numbers, snippets))
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
            case kind if kind in EMPHASIS:
                mark(EMPHASIS[kind])
            case "image":
                mark(f"{''.join(_words(token.content, ()))} ({_code(str(token.attrGet('src') or ''))})")
            case "link_open":
                targets.append((str(token.attrGet("href") or ""), len(words)))
            case "link_close":
                target, start = targets.pop()
                if target and "".join(words[start:]).strip() != target:
                    mark(f" ({_code(target)})")
            case _:
                words.append(token.content)
    out.extend(_words("".join(words), numbers, snippets))
    return "".join(out)


def _escape_numbers(line: str) -> str:
    """Escape numbers at line starts, so that no line starts another block. Marks are escaped already."""
    return re.sub(r"^(\s*\d{1,9})([.)])", r"\1\\\2", line, flags=re.MULTILINE)


def _words(text: str, numbers: Collection[int], snippets: Collection[int] = ()) -> Iterator[str]:
    """Yield text as literal Markdown, with citations linked and addresses as code."""
    start = 0
    for match in _ADDRESS.finditer(text):
        address = match[0].rstrip(_AFTER_ADDRESS)
        if not address:
            continue
        yield from _with_citations(text[start : match.start()], numbers, snippets)
        yield _code(address)
        start = match.start() + len(address)
    yield from _with_citations(text[start:], numbers, snippets)


def _with_citations(text: str, numbers: Collection[int], snippets: Collection[int]) -> Iterator[str]:
    start = 0
    marks = tuple(find_citations(text, numbers, superscripts=False)) if numbers and "[" in text else ()
    for mark in marks:
        if mark.start >= start:
            yield _literal(text[start : mark.start].rstrip(" "))
            start = mark.end
        label = citation_label(mark.number, snippets)
        yield f"[{label}](#src-{mark.number})" if mark.known else f" ~~\\[{mark.number}\\]~~"
    yield _literal(text[start:])


def _literal(text: str) -> str:
    """Return text that Markdown shows literally.

    Extensions for bare links would read an escaped @ as a mail address.
    """
    escaped = _ESCAPED.sub(r"\\\1", _SHORTCODE.sub(f":{_JOINER}", shortened_runs(text)))
    return escaped.replace("\\@", f"{_JOINER}@")


def _code(text: str) -> str:
    """Return an inline code span on one line."""
    return code_span(" ".join(text.split())[:500].replace(":material/", f":{_JOINER}material/"))
