"""The result of an HTML extractor."""

from dataclasses import dataclass

from core.reading.page_parts.repeated_parts import Lists
from core.reading.page_parts.structures import Structure


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """An article's text, and the name of its extractor."""

    text: str
    extractor: str
    hidden: str
    """The text that the page hides from its readers."""
    visible: str = ""
    """All other text of the page, or "" if the extractor skips it."""
    headings: tuple[str, ...]
    """The page's headings, in order. Some may be missing in `text`."""
    structures: tuple[Structure, ...] = ()
    """The page's tables and code, in order. Some may be missing in `text`."""
    parts: Lists = ()
    """The posts or items of the page, by list. Some may be missing in `text`."""
    date: str = ""
    """ISO 8601 day of publication, if the text states it."""
    author: str = ""
    """Who signed the text."""
    kind: str = ""
    """The kind of the page, such as "forum", or "" if unknown."""
    kind_reason: str = ""
