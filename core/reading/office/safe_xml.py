"""Safe XML parsing for office files and books: no entity expansion, no network."""

from __future__ import annotations

from typing import Any

from lxml import etree

from core.model import SkipReason, Unreadable


def xml_tree(data: bytes) -> Any:
    """The root element. Entities are not expanded, nothing is fetched, and nesting is bounded by libxml2.

    Raises:
        Unreadable: BROKEN when it is no XML, or declares entities: no honest office file does.
    """
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.LxmlError, ValueError) as error:
        raise Unreadable(SkipReason.BROKEN, "the XML in it is damaged") from error
    definitions: Any = root.getroottree().docinfo.internalDTD
    if definitions is not None and next(definitions.iterentities(), None) is not None:
        raise Unreadable(SkipReason.BROKEN, "it declares XML entities, which is how bombs are built")
    return root


def local(element: Any) -> str:
    """An element's name without its namespace; empty for what is no element."""
    return str(element.tag).rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """The first attribute of that name, in whichever namespace; empty where there is none."""
    for key, value in element.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value)
    return ""


def children(element: Any, name: str = "") -> list[Any]:
    """The elements directly inside one, or those of a name; none where there is no element."""
    return [] if element is None else [inner for inner in element if not name or local(inner) == name]


def child(element: Any, name: str) -> Any:
    """The first child of that name; None where there is none, or no element."""
    return next(iter(children(element, name)), None)
