"""What an extractor takes from an HTML page."""

from dataclasses import dataclass

from core.reading.page_parts.repeated_parts import Lists
from core.reading.page_parts.structures import Structure


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """An article's text, with the name of the extractor that found it."""

    text: str
    extractor: str
    hidden: str
    """The text that the page hides from its readers."""
    visible: str = ""
    """All other text of the page; empty where the extractor does not look at it."""
    headings: tuple[str, ...]
    """The page's headings, in their order. Not all of them need be in `text`."""
    structures: tuple[Structure, ...] = ()
    """The page's tables and code, in their order. Not all of them need be in `text`."""
    parts: Lists = ()
    """The posts or the items of the page, by list. Not all of them need be in `text`."""
    date: str = ""
    """ISO 8601 day of publication, as far as the text says it."""
    author: str = ""
    """Who signed the text."""
    kind: str = ""
    """What kind of page it is on: "forum", say; empty: unknown."""
    kind_reason: str = ""
