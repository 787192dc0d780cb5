"""Markdown of models and web pages as inactive Markdown for a file.

Any viewer may show the file. It has no raw HTML, images or reference definitions, and only links to `http` and `https`.
Bare mail and FTP addresses do not become links in GitHub's Markdown. Text is escaped only if it would be read as a
mark.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from markdown_it.token import Token

from core.text.markdown.blocks import EMPHASIS, BlockStyle, code_span, rewritten
from core.text.markdown.citations import citation_label, find_citations
from core.text.markdown.safe_markdown import web_address
from core.text.markdown.tokens import LIMIT, shortened_runs

# A mark between white space, or inside a word for `_`, has no effect. Brackets matter only before an address, a label
# or a colon. Tags, entities and escapes matter only if complete.
_MARK = (
    r"\\(?=[!-/:-@\[-`{-~]|\Z)|`|\*(?=\S)|(?<=\S)\*|(?<![^\W_])_(?=\S)|(?<=\S)_(?![^\W_])|(?<=\S)~"
    r"|<(?=[A-Za-z/!?])|&(?=#?\w{1,32};)|\](?=[(:\[])|!(?=\[)"
)
_MAIL = r"(?P<mail>(?<=\S)@(?=[^\s@]{0,255}\.[\w-]))"
_ADDRESS = r"(?P<address>(?<![^\W_])https?://[^\s<>\"`\\*~\[\](){}|&]+(?<![.,;:!?'_]))"
# GitHub's Markdown links bare addresses: web, FTP, mail and text that begins with `www.`.
_LITERAL = re.compile(rf"{_ADDRESS}|{_MAIL}|{_MARK}|:(?=//)", re.IGNORECASE)
_UNLINKED = re.compile(rf"{_MAIL}|{_MARK}|:(?=//)|(?<=www)\.", re.IGNORECASE)
_WORD_JOINER = "\u2060"
"""Invisible. GitHub's Markdown resolves an escaped @ before it looks for mail addresses."""
_BLOCK_MARK = re.compile(
    r"^([ \t]*)(?:(#{1,6}(?=\s|$)|[-+*](?=\s|$)|>|=+(?=\s*$)|-{2,}(?=\s*$)|\|)|(\d{1,9})([.)])(?=\s|$))",
    re.MULTILINE,
)


def file_markdown(
    text: str,
    anchors: Mapping[int, str] | None = None,
    *,
    deeper: int | None = None,
    snippets: Collection[int] = (),
) -> str:
    """Return `text` as Markdown for a file, with citations linked to `anchors` by number.

    Citations of `snippets`, sources known only by a snippet, are labelled.

    Headings are lowered by `deeper` levels, or become bold paragraphs with None. Only the first `LIMIT` characters are
    kept, and a line says so.
    """
    anchors = anchors or {}
    style = BlockStyle(
        inline=lambda children: _inline(children, anchors, snippets),
        paragraph=_escape_block_marks,
        deeper=deeper,
        columns=LIMIT,
        rows=LIMIT,
        languages=True,
    )
    return rewritten(text, style, numbers=anchors or None)


def file_text(text: str) -> str:
    """Return `text` as literal words of Markdown.

    For headings and the texts of links, whose words are untrusted: no address in them becomes a link.
    """
    return _without_brackets(_escaped(" ".join(text.split()), _UNLINKED))


def file_link(label: str, url: str) -> str:
    """Return a link, or its label alone for an address unsafe for browsers."""
    target = web_address(url)
    if target and re.search(r"[()<>]", target):
        target = f"<{target.replace('<', '%3C').replace('>', '%3E')}>"
    return f"[{label.strip() or file_text(url)}]({target})" if target else label


def _inline(tokens: Sequence[Token], anchors: Mapping[int, str], snippets: Collection[int]) -> str:
    """Return inline Markdown.

    Words are joined across escapes and entities, so that marks are found in the whole text.
    """
    out: list[str] = []
    words: list[str] = []
    links: list[tuple[str, int]] = []

    def flush() -> None:
        text = "".join(words)
        out.extend((_in_link(text),) if links else _with_citations(text, anchors, snippets))
        words.clear()

    def mark(text: str) -> None:
        flush()
        out.append(text)

    for token in tokens:
        match token.type:
            case "softbreak":
                words.append(" " if links else "\n")
            case "hardbreak":
                mark("\\\n")
            case "code_inline":
                mark(code_span(token.content))
            case kind if kind in EMPHASIS:
                mark(EMPHASIS[kind])
            case "image":
                mark(file_link(file_text(token.content) or "image", str(token.attrGet("src") or "")))
            case "link_open":
                flush()
                links.append((str(token.attrGet("href") or ""), len(out)))
            case "link_close":
                flush()
                target, start = links.pop()
                out[start:] = [file_link("".join(out[start:]), target)]
            case _:
                words.append(token.content)
    flush()
    # An exclamation mark right before a link would make an image of it.
    return re.sub(r"(?<!\\)!(?=\[)", r"\\!", "".join(out))


def _escape_block_marks(text: str) -> str:
    """Return a paragraph whose lines start no other block."""
    return _BLOCK_MARK.sub(lambda match: f"{match[1]}{match[3] or ''}\\{match[2] or match[4]}", text)


def _with_citations(text: str, anchors: Mapping[int, str], snippets: Collection[int]) -> Iterator[str]:
    start = 0
    marks = tuple(find_citations(text, anchors, superscripts=False)) if anchors else ()
    for mark in marks:
        if not mark.known:
            continue
        if mark.start >= start:
            yield _literal(text[start : mark.start])
            start = mark.end
        yield f"[[{citation_label(mark.number, snippets)}]](#{anchors[mark.number]})"
    yield _literal(text[start:])


def _in_link(text: str) -> str:
    return _without_brackets(_literal(text))


def _without_brackets(text: str) -> str:
    return re.sub(r"(?<!\\)([\[\]])", r"\\\1", text)


def _literal(text: str) -> str:
    """Return text with its marks escaped."""
    return _escaped(text, _LITERAL)


def _escaped(text: str, marks: re.Pattern[str]) -> str:
    def escape(mark: re.Match[str]) -> str:
        match mark.lastgroup:
            case "address":
                return mark[0]
            case "mail":
                return f"{_WORD_JOINER}@"
            case _:
                return f"\\{mark[0]}"

    return marks.sub(escape, shortened_runs(text))
