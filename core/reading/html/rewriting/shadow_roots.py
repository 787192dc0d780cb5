"""Declarative shadow roots: text of custom elements that is in a template."""

from __future__ import annotations

from collections.abc import Iterator

import lxml.html
from lxml import etree

_MODES = ("shadowrootmode", "shadowroot")
"""The attribute of a shadow root, and its name in earlier browsers."""
_BLOCKS = (
    "address", "article", "aside", "blockquote", "dd", "details", "div", "dl", "dt", "figure", "footer", "form", "h1",
    "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "ul",
)  # fmt: skip


def open_shadow_roots(tree: lxml.html.HtmlElement) -> None:
    """Replace shadow roots by their elements, with the host's children in the slots.

    Children without a slot are not displayed. They are moved into a template, which readers take for hidden.
    """
    for root, slots in _roots(tree):
        host = root.getparent()
        children = [child for child in host if child is not root]
        texts = (host.text or "") + (root.tail or "")
        host.text = root.tail = None
        named = {slot.get("name") or "": slot for slot in reversed(slots)}
        unseen: list[lxml.html.HtmlElement] = []
        filled = set[str]()
        if (default := named.get("")) is not None and (texts.strip() or any(map(_is_default, children))):
            _empty(default)
            filled.add("")
            default.text = texts
        for child in children:
            name = child.get("slot") or ""
            slot = named.get(name)
            if slot is None:
                unseen.append(child)
                continue
            if name not in filled:
                filled.add(name)
                _empty(slot)
            child.attrib.pop("slot", None)
            slot.append(child)
        for slot in slots:  # a slot can be a child of another host, with a slot of its own there
            slot.tag = _tag(slot)
        if unseen or (default is None and texts.strip()):
            template = etree.SubElement(host, "template")
            template.text = texts if default is None else None
            template.extend(unseen)
        for name in _MODES:
            root.attrib.pop(name, None)
        root.tag = _tag(root)
        if "-" in host.tag:  # extractors do not know custom elements
            host.tag = root.tag


def _roots(
    tree: lxml.html.HtmlElement,
) -> Iterator[tuple[lxml.html.HtmlElement, list[lxml.html.HtmlElement]]]:
    """Yield the shadow roots with their own slots, outer roots first. It takes linear time."""
    slots: dict[lxml.html.HtmlElement, list[lxml.html.HtmlElement]] = {}
    hosts = set[lxml.html.HtmlElement]()
    inside: list[lxml.html.HtmlElement] = []
    for event, element in etree.iterwalk(tree, events=("start", "end"), tag=("template", "slot")):
        is_root = element in slots
        if event == "end":
            if is_root:
                inside.pop()
        elif element.tag == "slot":
            if inside:
                slots[inside[-1]].append(element)
        elif (
            any(element.get(mode) in ("open", "closed") for mode in _MODES)
            and (host := element.getparent()) is not None
            and host not in hosts  # only the first one counts
        ):
            hosts.add(host)
            slots[element] = []
            inside.append(element)
    yield from list(slots.items())


def _is_default(child: lxml.html.HtmlElement) -> bool:
    return isinstance(child.tag, str) and not child.get("slot")


def _empty(slot: lxml.html.HtmlElement) -> None:
    """Remove the text that a slot shows without children of the host."""
    slot.text = None
    slot[:] = []


def _tag(element: lxml.html.HtmlElement) -> str:
    """Return the tag of a usual element for this content."""
    return "div" if next(element.iterdescendants(*_BLOCKS), None) is not None else "span"
