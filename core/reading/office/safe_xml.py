"""Safe XML parsing for office files and books: no entity expansion, no network; and walks over their trees."""

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
    """An element's name without its namespace; empty for what is no element."""
    return str(element.tag).rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """The first attribute of that name, in whichever namespace; empty where there is none."""
    for key, value in element.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value)
    return ""


def blocks(root: Any, names: Collection[str], skipped: Collection[str] = ()) -> Iterator[Any]:
    """The elements of these names below one, in order, but for those inside each other or inside a `skipped` one.

    Without recursion: how deep they stand is a stranger's choice.
    """
    stack = list(reversed(root))
    while stack:
        element = stack.pop()
        if local(element) in names:
            yield element
        elif local(element) not in skipped:
            stack.extend(reversed(element))


def is_inside(element: Any, outer: Any, *names: str) -> bool:
    """Whether an element of one of these names stands between this one and the `outer` one around it."""
    for above in element.iterancestors():
        if above is outer:
            return False
        if local(above) in names:
            return True
    return False
