"""Shortcodes of page builders, left in the text by a plugin that is missing."""

import re

import lxml.html

_NAME = "[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*"
SHORTCODE_SIGN = re.compile(rf"\[/{_NAME}\]|\[{_NAME}\s+[\w-]+=")
"""A closing form, or a name with an attribute. Scripts have names in brackets too, such as `[index]`."""
_SHORTCODE = re.compile(
    rf"\[(?P<name>{_NAME})(?:(?P<attributes>\s+[\w-]+=[^\[\]<>]{{0,1000}})|\s*/?)\]|\[/(?P<closed>{_NAME})\]"
)
"""A name in brackets, alone or with attributes, or its closing form: `[row el_class="a"]`, `[/row]`."""
_QUOTED = re.compile("""=\\s*["'“”„″‘’«»]""")
_CODE = frozenset({"code", "kbd", "pre", "samp", "script", "style", "textarea", "tt"})
_FORUM = frozenset({
    "b", "center", "code", "color", "font", "i", "img", "left", "list", "quote", "right", "s", "size", "spoiler", "table",
    "td", "tr", "u", "url", "user", "youtube",
})  # fmt: skip
"""Tags of forums (BBCode), whose readers see what was typed."""


def drop_shortcodes(tree: lxml.html.HtmlElement) -> None:
    """Remove shortcodes from the text outside of code.

    A name in brackets is a shortcode if it has quoted attributes or, elsewhere on the page, a closing form. Other
    words in brackets have neither.
    """
    elements = [element for element in tree.iter() if isinstance(element.tag, str)]
    inside = _within_code(elements)
    texts = [element.text for element in elements if element not in inside]
    texts += [element.tail for element in elements if element.getparent() not in inside]
    opened, attributed, closed = set[str](), set[str](), set[str]()
    for text in texts:
        for match in _SHORTCODE.finditer(text or "") if text and "[" in text else ():
            if match["closed"]:
                closed.add(match["closed"])
            elif match["attributes"] and _QUOTED.search(match["attributes"]):
                attributed.add(match["name"])
            else:
                opened.add(match["name"])
    names = (attributed | (opened & closed)) - _FORUM
    if not names:
        return

    def without(text: str | None) -> str | None:
        if not text or "[" not in text:
            return text
        return _SHORTCODE.sub(
            lambda match: "" if (match["name"] or match["closed"]) in names else match[0], text
        )

    for element in elements:
        if element not in inside:
            element.text = without(element.text)
        if element.getparent() not in inside:
            element.tail = without(element.tail)


def _within_code(elements: list[lxml.html.HtmlElement]) -> set[lxml.html.HtmlElement]:
    """Return the elements that are code, or are in it."""
    code: set[lxml.html.HtmlElement] = set()
    for element in elements:
        if element.tag in _CODE or element.getparent() in code:
            code.add(element)
    return code
