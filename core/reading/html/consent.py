"""Remove requests for cookie consent from pages that have a text beside them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import lxml.html

from core.reading.html.non_articles import consent_cues, prose_letters

_NAMES = re.compile(
    r"cookie|consent|gdpr|privacy|(?<![a-z])cmp(?![a-z])|onetrust|didomi|usercentrics", re.IGNORECASE
)
_DIALOGS = ("dialog", "alertdialog")
_LONGEST = 8_000
"""Maximum characters of a request."""
_LEAST_PROSE = 100
"""Letters and digits of sentences outside of requests that make a page readable."""
_NAMED_CUES, _CUES = 2, 4
"""Least cues of an element that is named a request or a dialog, and of any other at the top of a page."""
_CONTENT = ("h1", "main", "article")
"""Elements of content, which a request has none of."""


def remove_consent_request(tree: lxml.html.HtmlElement) -> None:
    """Remove the requests for consent of a page, unless it is about them, or hardly any prose would be left."""
    body = tree.find("body")
    if body is None or _NAMES.search(tree.findtext("head/title") or ""):
        return
    requests = {element for element, cues in _candidates(body) if _is_request(element, cues)}
    if requests and prose_letters("\n".join(_texts(body, requests))) >= _LEAST_PROSE:
        for element in requests:
            if element.getparent() is not None:
                element.drop_tree()


def _candidates(body: lxml.html.HtmlElement) -> Iterator[tuple[lxml.html.HtmlElement, int]]:
    """Yield the elements that may be a request, with the cues that each needs."""
    for element in body.iter("div", "section", "aside", "dialog", "form", "footer"):
        names = " ".join((element.get(name) or "")[:200] for name in ("class", "id", "aria-label"))
        if element.tag == "dialog" or element.get("role") in _DIALOGS or _NAMES.search(names):
            yield element, _NAMED_CUES
        elif element.getparent() is body:
            yield element, _CUES


def _is_request(element: lxml.html.HtmlElement, cues: int) -> bool:
    length, texts = 0, []
    for text in element.itertext():
        length += len(text)
        if length > _LONGEST:
            return False
        texts.append(text)
    return consent_cues(" ".join(texts)) >= cues and next(element.iter(*_CONTENT), None) is None


def _texts(body: lxml.html.HtmlElement, left_out: Collection[lxml.html.HtmlElement]) -> Iterator[str]:
    """Yield the texts of a page outside of some elements."""
    stack = [body]
    while stack:
        element = stack.pop()
        yield " ".join(part for part in (element.text, *(inner.tail for inner in element)) if part)
        stack.extend(inner for inner in element if isinstance(inner.tag, str) and inner not in left_out)
