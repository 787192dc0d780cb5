"""Visible text of a tree, block by block, and how much of it reads like prose."""

import lxml.html

_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr",
    "html", "legend", "li", "main", "nav", "ol", "option", "p", "pre", "section", "select", "summary", "table",
    "tbody", "tfoot", "thead", "tr", "ul",
})  # fmt: skip
_SILENT = frozenset({
    "script", "style", "head", "title", "noscript", "template", "textarea", "select", "button", "svg", "iframe",
    "object", "video", "audio", "canvas",
})  # fmt: skip
_AROUND = frozenset({"aside", "footer", "form", "header", "nav"})
_PROSE = 80
"""Characters from which a paragraph counts as prose rather than as a label or a teaser."""


def block_text(root: lxml.html.HtmlElement) -> str:
    """One line for each block; table cells of a row apart by a bar. Walks without recursion."""
    pieces: list[str] = []
    stack: list[tuple[lxml.html.HtmlElement, bool]] = [(root, False)]
    while stack:
        element, leaving = stack.pop()
        tag = element.tag if isinstance(element.tag, str) else "script"
        if leaving or tag in _SILENT:
            if tag in _BLOCKS:
                pieces.append("\n")
            elif tag in ("td", "th") and element.getnext() is not None:
                pieces.append(" | ")
            if element is not root and element.tail:
                pieces.append(_fold_spaces(element.tail))
            continue
        if tag in _BLOCKS:
            pieces.append("\n- " if tag == "li" else "\n")
        if element.text:
            pieces.append(_fold_spaces(element.text))
        stack.append((element, True))
        stack.extend((child, False) for child in reversed(element))
    return "".join(pieces)


def prose_length(root: lxml.html.HtmlElement) -> int:
    """Characters in paragraphs that read like prose and stand outside navigation, forms and the like."""
    total = 0
    for paragraph in root.iter("p"):
        text = " ".join(paragraph.text_content().split())
        if len(text) < _PROSE or any(above.tag in _AROUND for above in paragraph.iterancestors()):
            continue
        if sum(len(link.text_content()) for link in paragraph.iter("a")) * 2 < len(text):
            total += len(text)
    return total


def _fold_spaces(raw: str) -> str:
    """White space folded to single spaces, kept at both ends, so that words do not grow together."""
    folded = " ".join(raw.split())
    if not folded:
        return " "
    return (" " if raw[0].isspace() else "") + folded + (" " if raw[-1].isspace() else "")
