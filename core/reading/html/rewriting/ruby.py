"""Ruby text: characters with their readings above them."""

import re

import lxml.html
from lxml import etree

_READINGS = ("rt", "rtc", "rp")
_GAP = re.compile(r"\s*\n\s*")
"""A line end in the markup. Words of the base are divided by other white space."""


def drop_readings(tree: lxml.html.HtmlElement) -> None:
    """Remove the readings of ruby, so that its base is one word."""
    etree.strip_elements(tree, *_READINGS, with_tail=False)
    for ruby in tree.iter("ruby"):
        for element in ruby.iter():
            element.text = _GAP.sub("", element.text or "")
            if element is not ruby:
                element.tail = _GAP.sub("", element.tail or "")
