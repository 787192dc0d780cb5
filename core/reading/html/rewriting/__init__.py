"""Rewriting of markup whose text is not what a reader sees, such as formulas and superscripts.

All readers of a page get the rewritten markup.
"""

import re
from collections.abc import Callable

import lxml.html

from core.model import Unreadable
from core.reading.html.html_parsing import parse_html
from core.reading.html.rewriting.formulas import write_formulas
from core.reading.html.rewriting.plain_text import unwrap_text
from core.reading.html.rewriting.raised_text import write_raised_text
from core.reading.html.rewriting.ruby import drop_readings
from core.reading.html.rewriting.shadow_roots import open_shadow_roots
from core.reading.html.rewriting.shortcodes import SHORTCODE_SIGN, drop_shortcodes

_SHADOW = re.compile(r"<template\b[^<>]{0,300}\bshadowroot")
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
    (("<sup", "<sub"), write_raised_text),
)  # fmt: skip
"""Texts of markup in lower case, with the step that rewrites it. The order counts: a formula has superscripts."""


def rewrite_markup(html: str) -> str:
    """Return markup with formulas, superscripts and shadow roots as plain text.

    Readings of ruby and shortcodes are dropped. Other pages are returned unchanged. It takes linear time.
    """
    lowered = html.lower()
    steps = [step for cues, step in _STEPS if any(cue in lowered for cue in cues)]
    if "shadowroot" in lowered and _SHADOW.search(lowered):
        steps.insert(0, open_shadow_roots)
    if SHORTCODE_SIGN.search(html):
        steps.append(drop_shortcodes)
    if not steps:
        return html
    try:
        tree = parse_html(html)
    except Unreadable:  # the reader says why
        return html
    for step in steps:
        step(tree)
    unwrap_text(tree)
    return str(lxml.html.tostring(tree, encoding="unicode"))
