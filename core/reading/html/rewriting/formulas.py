"""Formulas of KaTeX, MathJax, MediaWiki, LaTeXML and MathML, each written once as TeX or text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from html import unescape
from urllib.parse import unquote_plus

import lxml.html
from lxml import etree

from core.reading.html.rewriting.plain_text import PLAIN, replace_by_text
from core.text.superscripts import lowered, raised

_RENDERED = frozenset({
    "MathJax", "MathJax_CHTML", "MathJax_SVG", "MathJax_Display", "MathJax_SVG_Display", "MathJax_CHTML_Display",
    "MJXc-display", "MathJax_MathML", "mjx-chtml", "mjx-full-width",
})  # fmt: skip
"""Classes of what MathJax 2 shows. The source follows in a script."""
_PREVIEWS = frozenset({"MathJax_Preview", "MathJax_Processing", "MathJax_Processed"})
_PICTURES = frozenset({
    "latex", "tex", "math", "wirisformula", "equation_image", "mwe-math-fallback-image-inline",
    "mwe-math-fallback-image-display", "ql-img-inline-formula", "ql-img-displayed-formula",
})  # fmt: skip
"""Classes of pictures whose alternative text is a formula, in lower case."""
_DISPLAYED = frozenset({"katex-display", "ltx_equation", "mwe-math-element-block"})
_PICTURE_ADDRESS = re.compile(
    r"(?:latex\.php|cgi-bin/mathtex|codecogs\.com/\w+\.\w+|/render/math|[?&]cht=tx)"
)
_QUERY = re.compile(r"(?:latex|math|chl)=([^&]+)")
_STYLE = re.compile(
    r"\\(?:displaystyle|textstyle|scriptstyle|scriptscriptstyle|Large|large|small)(?![a-zA-Z])\s*"
)
_BRACE = re.compile(r"(?<!\\)[{}]")
_DELIMITERS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))
_ARGUMENTS = re.compile(r"\\(?:begin|end|color|label|ref|eqref|tag|hspace|vspace)\*?\{[^{}]*\}|\\[a-zA-Z]+")
_WORD = re.compile(r"[^\W\d_]{3,}")
_MAX_UNSHOWN = 4
"""Words of TeX that are missing in the displayed formula. More words are a sentence that nobody sees."""
_MAX_CHARACTERS = 10_000
_BLOCKS = (
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "dl",
    "pre",
    "blockquote",
    "section",
    "article",
)
"""Elements that no formula has."""
_CONTAINERS = frozenset({"article", "body", "div", "main", "section"})
"""Elements of blocks, in which loose text is not taken for content."""
_SEVERAL = 2
_MOST_BETWEEN = 4
"""Elements of a formula before its script: previews and displays."""
TEX = frozenset({"application/x-tex", "application/x-latex", "latex", "tex", "text/x-tex", "text/latex"})
_MAX_DEPTH = 60
"""Levels of nesting whose form is kept. Deeper levels are read as plain text."""
_UNSEEN = dict.fromkeys(map(ord, "\u2061\u2062\u2063\u2064\u200b"))
"""Invisible operators, such as the one between factors."""


def write_formulas(tree: lxml.html.HtmlElement) -> None:
    """Write each formula once: its TeX, or else its text."""
    written = _elements_with_text(tree)
    for element in list(tree.iter("span", "div", "script", "img", "math", "mjx-container")):
        if element not in written and (write := _writer(element)) is not None:
            written.update(element.iterdescendants())
            write(element)


def _elements_with_text(tree: lxml.html.HtmlElement) -> set[lxml.html.HtmlElement]:
    """Return the elements around paragraphs or several formulas. These are text, whatever their class is."""
    inside = Counter[lxml.html.HtmlElement]()
    for element in tree.iter("math", *_BLOCKS):
        weight = _SEVERAL if element.tag in _BLOCKS else 1
        for ancestor in element.iterancestors():
            if inside[ancestor] >= _SEVERAL:
                break
            inside[ancestor] += weight
    return {element for element, count in inside.items() if count >= _SEVERAL}


def _writer(element: lxml.html.HtmlElement) -> Callable[[lxml.html.HtmlElement], None] | None:
    """Return the function that writes an element's formula, or None without a formula."""
    if element.tag == "img":
        return _write_picture
    if element.tag == "script":
        return _write_script if (element.get("type") or "").startswith("math/") else None
    classes = set((element.get("class") or "").split())
    if element.tag in ("math", "mjx-container") or classes & {"katex", "mwe-math-element"}:
        return _write_rendered
    if not classes & (_PREVIEWS | _RENDERED):
        return None
    if _script_after(element) is not None:
        return _remove
    return _write_rendered if classes & _RENDERED else None


def _write_rendered(element: lxml.html.HtmlElement) -> None:
    """Write the formula of a displayed element."""
    classes = set((element.get("class") or "").split())
    math = element if element.tag == "math" else next(element.iter("math"), None)
    if math is None and element.get("data-mathml"):
        math = _parsed(str(element.get("data-mathml")))
    displayed = bool(classes & _DISPLAYED) or element.get("display") in ("block", "true")
    if math is not None:
        shown = mathml_text(math)
        picture = next(element.iter("img"), None)
        sources = [*_annotations(math), math.get("alttext"), None if picture is None else picture.get("alt")]
        _write(element, *_chosen(sources, shown), displayed=displayed)
        return
    picture = next(element.iter("img"), None)
    source = next(
        filter(None, (element.get("data-latex"), *(inner.get("data-latex") for inner in element.iter("mjx-math", "g")))),
        None,
    )  # fmt: skip
    if picture is not None:
        source = source or picture.get("alt")
    shown = _glyphs(element) or _visible(element) or element.get("aria-label") or ""
    _write(element, *_chosen([source], shown), displayed=displayed)


def _write_picture(element: lxml.html.HtmlElement) -> None:
    classes = set((element.get("class") or "").lower().split())
    address = element.get("src") or ""
    if not (classes & _PICTURES or _PICTURE_ADDRESS.search(address)):
        return
    alternative = element.get("data-equation-content") or element.get("alt") or element.get("title")
    if not alternative:
        query = address.partition("?")[2]
        match = _QUERY.search(query)
        alternative = unquote_plus(match[1] if match else "" if "=" in query or "&" in query else query)
    if alternative:
        _write(element, *_chosen([alternative], ""))


def _write_script(element: lxml.html.HtmlElement) -> None:
    """Write the source in a script of MathJax, which MathJax displays."""
    _write(element, _of_script(element), displayed="display" in (element.get("type") or ""))


def _of_script(element: lxml.html.HtmlElement) -> str:
    source = (element.text or "").strip()
    with suppress(ValueError):  # a character reference of thousands of digits
        source = unescape(source).strip()
    source = (
        source.removeprefix("% <![CDATA[").removeprefix("<![CDATA[").removesuffix("%]]>").removesuffix("]]>")
    )
    if (element.get("type") or "").startswith("math/mml"):
        math = _parsed(source)
        return (
            "" if math is None else _chosen([*_annotations(math), math.get("alttext")], mathml_text(math))[0]
        )
    return _plain(source)


def _parsed(markup: str) -> lxml.html.HtmlElement | None:
    try:
        fragment = lxml.html.fragment_fromstring(markup.replace("\x00", ""), create_parent="div")
    except (etree.LxmlError, ValueError):
        return None
    return next(fragment.iter("math"), None)


def _annotations(math: lxml.html.HtmlElement) -> Iterator[str | None]:
    """Yield the TeX that was annotated to a formula."""
    for annotation in math.iter("annotation"):
        if (annotation.get("encoding") or "").lower() in TEX:
            yield "".join(annotation.itertext())[:_MAX_CHARACTERS]


def _chosen(sources: Sequence[str | None], shown: str) -> tuple[str, str]:
    """Return the text of a formula, and a refused source.

    Readers see the formula that is shown. A source with a sentence that is missing there is refused.
    """
    refused = ""
    seen = shown[:_MAX_CHARACTERS]
    for source in sources:
        tex = _plain(source or "")
        if not tex:
            continue
        words = _WORD.findall(_ARGUMENTS.sub(" ", tex))
        if sum(word not in seen for word in words) <= _MAX_UNSHOWN:
            return tex, refused
        refused = tex
    return shown, refused


def _plain(tex: str) -> str:
    """Return TeX on one line without delimiters, and without the style of the whole formula."""
    tex = " ".join(tex[:_MAX_CHARACTERS].replace("%\n", "").split())
    ends = _ends_of_groups(tex)
    start, end = 0, len(tex)
    while True:
        before = start, end
        for opening, closing in _DELIMITERS:
            first, last = start + len(opening), end - len(closing)
            if first < last and tex.startswith(opening, start) and tex.startswith(closing, last):
                start, end = _stripped(tex, first, last)
        if start < end and ends.get(start) == end - 1:
            start, end = _stripped(tex, start + 1, end - 1)
        if match := _STYLE.match(tex, start, end):
            start = match.end()
        if (start, end) == before:
            return tex[start:end]


def _stripped(tex: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of a part of TeX without the blank at each end."""
    start += tex.startswith(" ", start, end)
    return start, end - tex.endswith(" ", start, end)


def _ends_of_groups(tex: str) -> dict[int, int]:
    """Return the closing brace of each opening brace. Escaped braces do not count."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for match in _BRACE.finditer(tex):
        if match[0] == "{":
            opened.append(match.start())
        elif opened:
            ends[opened.pop()] = match.start()
    return ends


def _glyphs(element: lxml.html.HtmlElement) -> str:
    """Return the characters that MathJax 3 draws. Classes or identifiers name them."""
    characters = []
    for glyph in element.iter("mjx-c", "use"):
        code = re.search(r"(?:^|\s)mjx-c([0-9A-F]{1,6})(?:$|\s)", glyph.get("class") or "")
        value = code[1] if code else glyph.get("data-c") or ""
        if re.fullmatch("[0-9A-Fa-f]{1,6}", value) and int(value, 16) < 0x110000:
            characters.append(chr(int(value, 16)))
    return unicodedata.normalize("NFKC", "".join(characters))  # letters are drawn in italics


def _visible(element: lxml.html.HtmlElement) -> str:
    return " ".join("".join(element.itertext()).split())


def _script_after(element: lxml.html.HtmlElement) -> lxml.html.HtmlElement | None:
    """Return the script with the source of what MathJax 2 shows, or None.

    Only other elements of the same formula may be between them.
    """
    following = element.getnext()
    for _ in range(_MOST_BETWEEN):
        if following is None or (element.tail or "").strip():
            return None
        if following.tag == "script":
            return following if (following.get("type") or "").startswith("math/") else None
        if not set((following.get("class") or "").split()) & (_RENDERED | _PREVIEWS):
            return None
        element, following = following, following.getnext()
    return None


def _remove(element: lxml.html.HtmlElement) -> None:
    """Remove an element. The text after it stays."""
    replace_by_text(element, "")


def _write(element: lxml.html.HtmlElement, text: str, refused: str = "", *, displayed: bool = False) -> None:
    """Replace an element by a text. A refused source is put in a template, which readers take for hidden.

    A displayed formula between paragraphs becomes one. Loose text there is not taken for content.
    """
    alone = displayed and bool(text) and _is_between_blocks(element)
    replace_by_text(element, f" {text} " if displayed and text else text)
    if alone:
        element.tag = "p"
    if refused:
        etree.SubElement(element, "template").text = refused


def _is_between_blocks(element: lxml.html.HtmlElement) -> bool:
    parent, before = element.getparent(), element.getprevious()
    while before is not None and before.tag == PLAIN and not (before.text or before.tail or "").strip():
        before = before.getprevious()
    if parent is None or parent.tag not in _CONTAINERS or (element.tail or "").strip():
        return False
    text = parent.text if before is None else before.tail
    return not (text or "").strip() and (before is None or before.tag in _BLOCKS or before.tag in _CONTAINERS)


def mathml_text(element: lxml.html.HtmlElement, depth: int = 0) -> str:
    """Return the text of a formula or of a part."""
    tag = str(element.tag).rpartition(":")[2]
    if tag in ("annotation", "annotation-xml", "mphantom", "mprescripts", "none", "template"):
        return ""
    if depth > _MAX_DEPTH or not len(element):
        return " ".join("".join(element.itertext()).translate(_UNSEEN).split())
    inside = [part for part in element if isinstance(part.tag, str)]
    parts = [mathml_text(part, depth + 1) for part in inside]
    match tag, parts:
        case "mfrac", [above, below]:
            return f"{_grouped(above)}/{_grouped(below)}"
        case (("msup" | "mover"), [base, script]):
            return base + _script(script, up=True)
        case (("msub" | "munder"), [base, script]):
            return base + _script(script, up=False)
        case (("msubsup" | "munderover"), [base, below, above]):
            return base + _script(below, up=False) + _script(above, up=True)
        case "msqrt", _:
            return f"√{_grouped(''.join(parts))}"
        case "mroot", [base, index]:
            return f"{_script(index, up=True)}√{_grouped(base)}"
        case "mfenced", _:
            return f"{element.get('open', '(')}{', '.join(parts)}{element.get('close', ')')}"
        case (("mtable" | "mstack"), _):
            return "; ".join(parts)
        case (("mtr" | "mlabeledtr"), _):
            return ", ".join(parts)
        case _:
            for number, part in enumerate(inside):
                beside = [other.tag for other in inside[max(number - 1, 0) : number + 2] if other is not part]
                if part.tag == "mfrac" and any(other != "mo" for other in beside):
                    parts[number] = f"({parts[number]})"  # else 1/2 before x is 1/(2x)
            return (element.text or "").strip() + "".join(parts)


def _script(text: str, *, up: bool) -> str:
    """Return a power or an index. Accents and other marks stay as they are."""
    is_mark = not any(map(str.isalnum, text)) and text.strip("+-−")
    return text if is_mark or not text else (raised if up else lowered)(text)


def _grouped(text: str) -> str:
    """Return a text in brackets, unless it is one number or name."""
    return text if len(text) < 2 or text.replace(".", "").isalnum() else f"({text})"
