"""Hidden text: removed from the page before extraction.

Detected by elements, attributes and inline styles. Style sheets are not evaluated: what only a class hides
stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol, Self

from core.reading.html.inline_styles import (
    WHITE,
    Colour,
    alike,
    background,
    colour,
    declarations,
    hides,
    see_through,
    sets_font_size,
    tiny_font,
    transparent,
)

_UNSEEN_TAGS = frozenset({"template", "noscript"})
_MAX_ANCESTORS = 40
MAX_HIDDEN_CHARACTERS = 200_000
"""Characters of hidden text that are reported."""


MAX_INNER_STYLES = 100_000
"""Elements inside of tiny letters that are looked at for letters of another size."""


class Node(Protocol):
    """An element of either parser's tree."""

    @property
    def tag(self) -> str: ...
    def attribute(self, name: str) -> str | None: ...
    def parent(self) -> Self | None: ...
    def descendants(self) -> Iterable[Self]: ...
    def text_length(self) -> int: ...
    def text(self) -> str: ...
    def remove(self) -> None: ...


def remove_hidden(
    candidates: Iterable[Node], body_length: Callable[[], int], backgrounds: Collection[Colour]
) -> str:
    """Remove the hidden ones of the candidates, and return their text, at most `MAX_HIDDEN_CHARACTERS`.

    Some signs are weaker than others: white letters may stand on a dark box that only a style sheet
    knows, and letters that begin transparent may be faded in. What shows a weak sign and makes up more
    than half of the page's characters, which `body_length` counts, is the page itself, and stays.

    `backgrounds` are all the colours that the page sets in line behind anything.
    """
    page_backgrounds = {WHITE, *backgrounds}
    weak: list[Node] = []
    removed, inner = _RemovedText(), _InnerStyles()
    found = [(node, declarations(node.attribute("style") or "")) for node in candidates]
    # Before anything goes, and only for what may be in doubt: counting walks the whole page.
    length = body_length() if any(_may_be_invisible_ink(node, style) for node, style in found) else 0
    for node, style in found:
        if node.tag in ("html", "body"):
            continue
        if _is_hidden(node, style, inner):
            removed.add(node)
        elif transparent(style) or _invisible_ink(node, style, page_backgrounds):
            weak.append(node)
    if sum(node.text_length() for node in weak) * 2 <= length:
        for node in weak:
            removed.add(node)
    return "\n".join(removed.texts)


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
    """Looks at the styles inside of elements, up to a limit for the whole page: they may be nested in each other."""

    def __init__(self) -> None:
        self._left = MAX_INNER_STYLES

    def set_font_size(self, node: Node) -> bool:
        """Whether an element inside sets its own font size; False once the limit is reached."""
        for inner in node.descendants() if self._left > 0 else ():
            self._left -= 1
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


def _may_be_invisible_ink(node: Node, style: dict[str, str]) -> bool:
    """A cheap test that every node with a weak sign passes."""
    return "color" in style or "opacity" in style or node.tag == "font"


def _invisible_ink(node: Node, style: dict[str, str], page_backgrounds: Collection[Colour]) -> bool:
    ink = style.get("color") or (node.attribute("color") if node.tag == "font" else None)
    if ink is None:
        return False
    if see_through(ink):
        return True
    written = colour(ink)
    if written is None or not any(alike(written, paper) for paper in page_backgrounds):
        return False  # spares the walk to the top of the page, which is slow in large tables
    behind = _backdrop(node)
    return behind is not None and alike(written, behind)


def _backdrop(node: Node) -> Colour | None:
    """The colour behind the node: the nearest one set in line, white if none is, None for a picture."""
    at: Node | None = node
    for _ in range(_MAX_ANCESTORS):
        if at is None:
            break
        style = declarations(at.attribute("style") or "")
        behind = background(style) or at.attribute("bgcolor")
        if style.get("background-image", "none") != "none":
            return None
        if behind and not see_through(behind) and behind not in ("none", "inherit", "initial", "unset"):
            return colour(behind)
        at = at.parent()
    return WHITE
