"""Safe XML parsing for office files and books, and tree walks.

Entities are not expanded, and the network is not used.
"""

from collections.abc import Collection, Iterator
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
    """Return an element's name without its namespace, or "". A node that is not an element gives ""."""
    return str(element.tag).rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """Return the first attribute with this name in any namespace, or ""."""
    for key, value in element.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value)
    return ""


def blocks(root: Any, names: Collection[str], skipped: Collection[str] = ()) -> Iterator[Any]:
    """Yield the elements with these names, in order.

    Elements inside each other or inside a `skipped` element are left out. The walk does not recurse, because
    hostile files may nest deeply.
    """
    stack = list(reversed(root))
    while stack:
        element = stack.pop()
        if local(element) in names:
            yield element
        elif local(element) not in skipped:
            stack.extend(reversed(element))


def is_inside(element: Any, outer: Any, *names: str) -> bool:
    """Whether a named element is between this element and `outer`."""
    for above in element.iterancestors():
        if above is outer:
            return False
        if local(above) in names:
            return True
    return False
