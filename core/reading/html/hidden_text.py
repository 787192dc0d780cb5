"""Hidden text: removed from the page before extraction.

Elements, attributes and inline styles reveal it. Style sheets are not evaluated: an element that only a class
hides stays.
"""

import re
from collections.abc import Callable, Collection, Iterable
from typing import Protocol, Self, TypeVar

from core.reading.html.inline_styles import (
    WHITE,
    Colour,
    alike,
    background,
    colour,
    declarations,
    hides,
    not_displayed,
    see_through,
    sets_font_size,
    tiny_font,
    transparent,
)

_UNSEEN_TAGS = frozenset({"template", "noscript"})
_CLOSED_TAGS = frozenset({"template", "dialog"})
_OVERLAY = re.compile("dialog|modal|pop-?up|light-?box|overlay|cookie|consent")
"""Names of elements that scripts show over a page: terms, notices, forms."""
_OPENED = re.compile(
    r"faq|accordion|collaps|expand|toggle|read-?more|answer|panel|(?<![a-z])tabs?(?![a-z])|tab-?(?:pane|content)"
)
"""Names of elements that a click opens: answers in a list of questions, tabs, folded parts."""
_MENU = re.compile(r"(?<![a-z])(?:nav|menu|search|filter|cart)")
_MOVING = frozenset({"transform", "-webkit-transform", "transition", "animation", "will-change"})
"""Properties of elements that a script fades in on scrolling."""
_ANIMATED = re.compile(
    r"(?<![a-z])(?:animat|aos(?![a-z])|appear|entrance|fade|gsap|in-?view|motion|on-?enter|parallax|reveal|scroll|slide|wow(?![a-z]))"
)
"""Names of such elements."""
_ANIMATIONS = (
    "data-aos", "data-animate", "data-animated", "data-animation", "data-appear", "data-framer-appear-id", "data-reveal",
    "data-sal", "data-scroll", "data-w-id", "x-intersect",
)  # fmt: skip
"""Attributes of such elements."""
_STREAMED = re.compile("S:[0-9a-f]+")
"""Identifiers of parts that React sends late and hidden. Its script moves them to their position."""
_MIN_ARTICLE = 200
"""Minimum characters of hidden text for an article. Shorter texts are a script's messages."""
MAX_MEASURED = 1_000_000
"""Maximum characters of hidden elements to count. They may be nested."""
_MAX_ANCESTORS = 40
MAX_HIDDEN_CHARACTERS = 200_000
"""Characters of hidden text that are reported."""


MAX_INNER_STYLES = 100_000
"""Maximum elements inside tiny letters to check for another size."""


class Node(Protocol):
    """An element of either parser's tree."""

    @property
    def tag(self) -> str:
        """Its name, in lower case."""

    def attribute(self, name: str) -> str | None:
        """Return the value of an attribute, or None."""

    def parent(self) -> Self | None:
        """The element around it."""

    def descendants(self) -> Iterable[Self]:
        """All elements in it, in document order."""

    def text(self) -> str:
        """All text in it, on one line."""

    def show(self) -> None:
        """Make it an element that extractors take for visible."""

    def remove(self) -> None:
        """Remove the element and its content."""


AnyNode = TypeVar("AnyNode", bound=Node)


def remove_hidden(
    candidates: Iterable[Node],
    page_length: Callable[[], int],
    backgrounds: Collection[Colour],
    *,
    scripted: bool,
) -> str:
    """Remove the hidden candidates, and return their text.

    At most `MAX_HIDDEN_CHARACTERS` are returned. A candidate with half of the page's characters, which
    `page_length` counts, is the page itself and stays, if its sign may be wrong: white letters may be on
    a dark box that only a style sheet defines, transparent letters may be faded in, `noscript` is for
    readers without scripts, such as this program, and a script may show an element that is not displayed,
    or let one grow or move in. The last two need a script on the page (`scripted`). Elements with the
    name of a part that a click opens stay too, and so do moving elements that start transparent: pages
    are often saved without their scripts. `backgrounds` are all the inline background colours of the
    page.
    """
    page_backgrounds = {WHITE, *backgrounds}
    hidden: list[Node] = []
    weak: list[Node] = []
    inner = _InnerStyles()
    for node in candidates:
        style = declarations(node.attribute("style") or "")
        if node.tag in ("html", "body"):
            continue
        if _is_hidden(node, style, inner):
            hidden.append(node)
        elif (transparent(style) and not _is_animated(node, style)) or _invisible_ink(
            node, style, page_backgrounds
        ):
            weak.append(node)
    opened = [node for node in hidden if _is_opened(node)]
    for node in opened:
        node.show()
    shown = {id(node) for node in opened}
    hidden = [node for node in hidden if id(node) not in shown]
    waiting = [node for node in hidden if _waits_for_a_script(node, scripted)]
    visible = {id(node): node for node in _halves_of_the_page(waiting, page_length)}
    removed = _RemovedText()
    for node in hidden:
        if id(node) in visible:
            node.show()
        else:
            removed.add(node)
    if weak and sum(len(node.text()) for node in weak) * 2 <= page_length():
        for node in weak:
            removed.add(node)
    return "\n".join(removed.texts)


def _halves_of_the_page(nodes: Iterable[AnyNode], page_length: Callable[[], int]) -> list[AnyNode]:
    """Return the nodes with enough text for an article and half of the page's."""
    long: list[tuple[AnyNode, int]] = []
    room = MAX_MEASURED
    for node in nodes:
        length = len(node.text()) if room > 0 else 0
        room -= length
        if length >= _MIN_ARTICLE:
            long.append((node, length))
    whole = page_length() if long else 0
    return [node for node, length in long if 2 * length >= whole]


def _is_opened(node: Node) -> bool:
    """Whether a script shows the element in its position. It is shown at once or after a click."""
    if node.tag in _UNSEEN_TAGS | _CLOSED_TAGS:
        return False
    if _STREAMED.fullmatch(node.attribute("id") or ""):
        return True
    above = node.parent()
    names = " ".join(
        (element.attribute(name) or "")[:200].lower()
        for element in (node, above)
        if element is not None
        for name in ("class", "id", "role")
    )
    return bool(_OPENED.search(names)) and not _OVERLAY.search(names) and not _MENU.search(names)


def _is_animated(node: Node, style: dict[str, str]) -> bool:
    """Whether a script moves or fades an element in, by its style, names or attributes."""
    names = " ".join((node.attribute(name) or "")[:200] for name in ("class", "id")).lower()
    return bool(
        _MOVING & style.keys()
        or _ANIMATED.search(names)
        or any(node.attribute(name) is not None for name in _ANIMATIONS)
    )


def _waits_for_a_script(node: Node, scripted: bool) -> bool:
    if node.tag == "noscript":
        return True
    style = declarations(node.attribute("style") or "")
    names = " ".join(node.attribute(name) or "" for name in ("class", "id", "role"))
    return (
        scripted
        and node.tag not in _CLOSED_TAGS
        and (node.attribute("hidden") is not None or not_displayed(style) or _is_animated(node, style))
        and not _OVERLAY.search(f"{node.tag} {names}".lower())
    )


class _RemovedText:
    """Removes nodes and collects their text."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._room = MAX_HIDDEN_CHARACTERS

    def add(self, node: Node) -> None:
        if self._room > 0 and (text := node.text()[: self._room]):
            self.texts.append(text)
            self._room -= len(text)
        node.remove()


class _InnerStyles:
    """A check of inner styles with a limit for the whole page. Elements may be nested."""

    def __init__(self) -> None:
        self._remaining = MAX_INNER_STYLES

    def set_font_size(self, node: Node) -> bool:
        """Whether an inner element sets its own font size. False once the limit is reached."""
        for inner in node.descendants() if self._remaining > 0 else ():
            self._remaining -= 1
            if sets_font_size(declarations(inner.attribute("style") or "")):
                return True
        return False


def _is_hidden(node: Node, style: dict[str, str], inner: _InnerStyles) -> bool:
    if node.tag in _UNSEEN_TAGS or (node.tag == "dialog" and node.attribute("open") is None):
        return True
    # "until-found" is text that the browser's own search opens: meant to be read.
    if node.attribute("hidden") not in (None, "until-found") or hides(style):
        return True
    return tiny_font(style) and not inner.set_font_size(node)


def _invisible_ink(node: Node, style: dict[str, str], page_backgrounds: Collection[Colour]) -> bool:
    ink = style.get("color") or (node.attribute("color") if node.tag == "font" else None)
    if ink is None:
        return False
    if see_through(ink):
        return True
    ink_colour = colour(ink)
    if ink_colour is None or not any(alike(ink_colour, paper) for paper in page_backgrounds):
        return False  # spares the walk to the top of the page, which is slow in large tables
    behind = _backdrop(node)
    return behind is not None and alike(ink_colour, behind)


def _backdrop(node: Node) -> Colour | None:
    """Return the colour behind a node, or None for a picture.

    It is the nearest inline colour, or else white.
    """
    element: Node | None = node
    for _ in range(_MAX_ANCESTORS):
        if element is None:
            break
        style = declarations(element.attribute("style") or "")
        behind = background(style) or element.attribute("bgcolor")
        if style.get("background-image", "none") != "none":
            return None
        if behind and not see_through(behind) and behind not in ("none", "inherit", "initial", "unset"):
            return colour(behind)
        element = element.parent()
    return WHITE
