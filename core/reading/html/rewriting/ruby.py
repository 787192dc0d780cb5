"""Ruby text: characters with their readings above them."""

import lxml.html
from lxml import etree

_READINGS = ("rt", "rtc", "rp")


def drop_readings(tree: lxml.html.HtmlElement) -> None:
    """Remove the readings of ruby, so that its base is one word."""
    etree.strip_elements(tree, *_READINGS, with_tail=False)
    joined = set[lxml.html.HtmlElement]()
    for ruby in tree.iter("ruby"):
        if ruby in joined:  # it is in another ruby
            continue
        for element in ruby.iter():
            joined.add(element)
            element.text = _joined(element.text or "")
            if element is not ruby:
                element.tail = _joined(element.tail or "")


def _joined(text: str) -> str:
    """Return a text without line ends and the white space around them.

    Words of the base are divided by other white space. A pattern would take quadratic time for a row of blanks.
    """
    first, *lines = text.split("\n")
    if not lines:
        return text
    return first.rstrip() + "".join(line.strip() for line in lines[:-1]) + lines[-1].lstrip()
