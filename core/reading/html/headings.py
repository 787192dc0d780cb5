"""Headings of an HTML page, found again in the text that an extractor took from it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import lxml.html

from core.reading.normalization import clean_line

_TAGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_MAX_HEADINGS = 1_000
_MAX_CHARACTERS = 200
"""A longer heading is a paragraph in large type."""
_MAX_READ = 1_000_000
"""Characters of headings that are looked at: headings inside headings hold the same text again and again."""
_AROUND = " #§¶:.†"
"""What authors and permalinks put around a heading's words, which extractors keep or drop."""


def lxml_headings(tree: lxml.html.HtmlElement) -> tuple[str, ...]:
    """The texts of the headings in an lxml tree, in their order."""
    return _headings(element.text_content() for element in tree.iter(*_TAGS))


def resiliparse_headings(tree: Any) -> tuple[str, ...]:
    """The texts of the headings in a resiliparse tree, in their order."""
    if tree.body is None:
        return ()
    # As a slice: walking the parser's own list item by item is quadratic.
    return _headings(element.text for element in tree.body.query_selector_all(", ".join(_TAGS))[:])


def sections(text: str, headings: Iterable[str]) -> tuple[tuple[int, str], ...]:
    """The offsets of the headings in the text, each with its words. A heading has a line of its own there.

    Of more lines with a heading's words than there are such headings, the last ones count: a table of
    contents stands before what it lists.
    """
    occurrences = Counter(map(_key, headings))
    offsets: dict[str, list[int]] = {}
    names: dict[int, str] = {}
    offset = 0
    for line in text.split("\n"):
        if 0 < len(line) <= _MAX_CHARACTERS + len(_AROUND) and (key := _key(line)) in occurrences:
            offsets.setdefault(key, []).append(offset)
            names[offset] = line.strip("#¶§ ")
        offset += len(line) + 1
    section_starts = sorted(start for key, starts in offsets.items() for start in starts[-occurrences[key] :])
    return tuple((start, names[start]) for start in section_starts)


def _headings(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts on one line each, without those that are empty or longer than a heading."""
    return tuple(
        heading
        for text in islice(_until_limit(texts), _MAX_HEADINGS)
        if len(text) <= 4 * _MAX_CHARACTERS
        and (heading := clean_line(text, _MAX_CHARACTERS + 1))
        and len(heading) <= _MAX_CHARACTERS
        and _key(heading)
    )


def _until_limit(texts: Iterable[str]) -> Iterator[str]:
    """The texts until they are too long together."""
    read = 0
    for text in texts:
        yield text
        read += len(text)
        if read > _MAX_READ:
            return


def _key(line: str) -> str:
    return line.strip(_AROUND).casefold()
