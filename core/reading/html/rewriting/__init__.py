"""Rewriting of markup whose text is not what a reader sees, such as formulas and superscripts.

All readers of a page get the rewritten markup.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import lxml.html
from lxml import etree

from core.model import Unreadable
from core.reading.html.html_parsing import parse_html
from core.reading.html.rewriting.formulas import write_formulas
from core.reading.html.rewriting.plain_text import unwrap_text
from core.reading.html.rewriting.raised_text import raised_classes, write_raised_text
from core.reading.html.rewriting.shadow_roots import open_shadow_roots
from core.reading.html.rewriting.table_captions import write_captions

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
_READINGS = ("rt", "rtc", "rp")
_MARKED_LINK = re.compile("</a(?<=[¶§🔗#;]</a)")
"""The end of a link whose text ends with a mark or a reference. The fixed beginning is found quickly."""
_PERMALINK = re.compile(
    r"<a\b[^<>]{0,300}?\bhref\s?=\s?[^<>#]{0,300}#[^<>]{0,300}>\s{0,20}(?:[¶§🔗#]|&para;|&#182;)</a>",
    re.IGNORECASE,
)
"""A link with a mark in place of words, by which readers copy the address of a heading."""
_NUMBERS = re.compile(
    r"<pre\b[^<>]{0,300}>((?:[0-9\s]|</?(?:a|b|div|span)\b[^<>]{0,300}>)+)</pre\s*>", re.IGNORECASE
)
"""Preformatted text of numbers alone."""
_TAG = re.compile("<[^<>]*>")
_WITHIN_LINES = "a|abbr|b|button|cite|code|em|font|i|label|mark|small|span|strong|time|u"
_OPENING, _CLOSING = rf"<(?:{_WITHIN_LINES})(?:\s[^<>]{{0,2000}})?>", rf"</(?:{_WITHIN_LINES})\s?>"
_COMMENT = "<!--[^<>]{0,100}-->"
_JOINT = re.compile(
    rf"{_CLOSING}(?=(?:{_CLOSING}|{_OPENING}|{_COMMENT}){{0,30}}{_OPENING}(?:{_COMMENT}){{0,9}}([^\W_]))"
)
"""The end of an element that is followed by another with a word, without a blank. Scripts leave comments between."""
_WORD_END = re.compile(r"[^\W_]{2}|[^\W\d_][:;,]")
_SHADOW = re.compile(r"<template\b[^<>]{0,300}\bshadowroot")
_RAISED = re.compile(r"<su[pb]\b|<[a-z]+\s[^<>]{0,300}?vertical-align:\s*su(?:per|b)\b|[\"' -]noteref[\"' ]")
_SHEET = re.compile(r"<style\b[^<>]{0,300}>\s*(?:<!--)?([^<]*)</style", re.IGNORECASE)


def drop_shortcodes(tree: lxml.html.HtmlElement) -> None:
    """Remove shortcodes from the text outside of code.

    They are of page builders, and left in the text by a plugin that is missing.

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


_STEPS: tuple[tuple[tuple[str, ...], Callable[[lxml.html.HtmlElement], None]], ...] = (
    (
        (
            "<math", "math/tex", "math/mml", "math/asciimath", "katex", "mathjax_", "mjx-", "mwe-math", 'class="latex',
            'class="tex"', "displayed-formula", "inline-formula", "wirisformula", "equation_image", "latex.php", "codecogs",
            "/render/math", "cht=tx", "mathtex",
        ),
        write_formulas,
    ),
    (("<ruby",), drop_readings),
)  # fmt: skip
"""Texts of markup in lower case, with the step that rewrites it. The order counts: a formula has superscripts."""


def _drop_marks(html: str) -> str:
    """Return markup without permalinks of headings and line numbers of code."""
    if _MARKED_LINK.search(html):
        html = _PERMALINK.sub("", html)
    return _NUMBERS.sub(lambda match: "" if _counts(match[1]) else match[0], html)


def _parted(joint: re.Match[str]) -> str:
    """Return the end of an element with a blank after it, by which a style parts its words from the next.

    A lower-case letter may continue a word, as after an initial, and scripts without capitals need no blanks.
    """
    before, after = joint.string[max(joint.start() - 2, 0) : joint.start()], joint[1]
    cased = before[-1:].isdigit() or before.lower() != before.upper()
    apart = cased and _WORD_END.fullmatch(before) and (after.isupper() or after.isdigit())
    return f"{joint[0]} " if apart else joint[0]


def _counts(markup: str) -> bool:
    """Whether a markup's words are two or more numbers, each by one higher than the one before."""
    words = _TAG.sub(" ", markup).split()
    if len(words) < 2 or max(map(len, words)) > 9:
        return False
    return [*map(int, words)] == [*range(int(words[0]), int(words[0]) + len(words))]


def rewrite_markup(html: str, classes: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return markup with formulas, superscripts and shadow roots as plain text.

    Captions are rows of their tables. Readings of ruby, shortcodes, marks of headings and numbers of lines are dropped. Other pages are returned unchanged.
    It takes linear time. `classes` are those that style sheets beside the page raise or lower, with their tag.
    """
    classes = {**classes, **raised_classes("\n".join(_SHEET.findall(html)))}
    html = _JOINT.sub(_parted, _drop_marks(html))
    lowered = html.lower()
    if "<caption" in lowered or ("<figure" in lowered and ("<table" in lowered or "<pre" in lowered)):
        html = write_captions(html)
        lowered = html.lower()
    steps = [step for cues, step in _STEPS if any(cue in lowered for cue in cues)]
    if "shadowroot" in lowered and _SHADOW.search(lowered):
        steps.insert(0, open_shadow_roots)
    if classes or _RAISED.search(lowered):
        steps.append(partial(write_raised_text, classes=classes))
    if SHORTCODE_SIGN.search(html):
        steps.append(drop_shortcodes)
    if not steps:
        return html
    try:
        tree = parse_html(html, as_written=True)
    except Unreadable:  # the reader says why
        return html
    for step in steps:
        step(tree)
    unwrap_text(tree)
    return str(lxml.html.tostring(tree, encoding="unicode"))
