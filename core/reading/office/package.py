"""Packages: office files and books as zip archives of XML parts.

This is the code that their formats share.
"""

import posixpath
from collections.abc import Iterator
from typing import Any

from core.reading.office.safe_xml import attribute, local, xml_tree
from core.reading.zip_archive import Archive

_UNPACKED_LIMIT = 150_000_000
"""Bytes that a package may unpack to in all."""
_LARGEST_PART = 60_000_000


class Package(Archive):
    """The parts of a package by name. Reading one raises Unreadable when it is damaged, locked or too large."""

    def __init__(self, content: bytes) -> None:
        """Raises Unreadable: as `Archive`."""
        super().__init__(content, _UNPACKED_LIMIT)

    def part(self, name: str, limit: int = _LARGEST_PART) -> Any:
        """Return the root element of an XML part of at most `limit` bytes."""
        return xml_tree(self.read(name, limit))

    def facts(self, name: str, *fields: str) -> dict[str, str]:
        """Return the texts of named elements in a part. A missing element gives ""."""
        facts = dict.fromkeys(fields, "")
        if name in self:
            for element in self.part(name).iter(*(f"{{*}}{field}" for field in fields)):
                facts[local(element)] = element.text or ""
        return facts

    def core_facts(self) -> dict[str, str]:
        """Return title, author and creation day from Microsoft's formats."""
        facts = self.facts("docProps/core.xml", "title", "creator", "created")
        return {"title": facts["title"], "author": facts["creator"], "date": facts["created"]}

    def references(self, name: str, kind: str) -> Iterator[tuple[Any, str]]:
        """Yield elements of a kind with the names of their parts. The elements are in order."""
        folder, file = posixpath.split(name)
        relations = f"{folder}/_rels/{file}.rels"
        targets = {}
        for relation in self.part(relations) if relations in self else ():
            target = attribute(relation, "Target")
            path = posixpath.join("/" if target.startswith("/") else folder, target)
            targets[attribute(relation, "Id")] = posixpath.normpath(path).lstrip("/")
        for element in self.part(name).iter(f"{{*}}{kind}"):
            identifiers = (str(value) for key, value in element.attrib.items() if str(key).endswith("}id"))
            if (target := targets.get(next(identifiers, ""), "")) in self:
                yield element, target
