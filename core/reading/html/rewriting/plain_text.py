"""Elements that become plain text of the element around them."""

import lxml.html
from lxml import etree

PLAIN = "openquery-text"
"""The tag of such an element until all are unwrapped. Unwrapping each alone takes quadratic time."""


def replace_by_text(element: lxml.html.HtmlElement, text: str) -> None:
    """Replace an element and its content by a text. The text after the element stays."""
    tail = element.tail
    element.clear()
    element.tag, element.text, element.tail = PLAIN, text, tail


def unwrap_text(tree: lxml.html.HtmlElement) -> None:
    """Unwrap the elements that were replaced by text."""
    etree.strip_tags(tree, PLAIN)
