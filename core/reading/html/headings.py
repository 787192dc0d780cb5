"""Headings of an HTML page, located in an extractor's text."""

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
"""Maximum characters of headings to read. Nested headings repeat the same text."""
_AROUND = " #§¶:.†"
"""Characters of authors and permalinks around a heading, which extractors keep or drop."""


def lxml_headings(tree: lxml.html.HtmlElement) -> tuple[str, ...]:
    """Return the headings of an lxml tree, in order."""
    return _headings(element.text_content() for element in tree.iter(*_TAGS))


def resiliparse_headings(tree: Any) -> tuple[str, ...]:
    """Return the headings of a resiliparse tree, in order."""
    if tree.body is None:
        return ()
    # As a slice: walking the parser's own list item by item is quadratic.
    return _headings(element.text for element in tree.body.query_selector_all(", ".join(_TAGS))[:])


def sections(text: str, headings: Iterable[str]) -> tuple[tuple[int, str], ...]:
    """Return the offsets and words of the headings in the text.

    A heading is a whole line there. If more lines than headings have the same words, the last lines count,
    because a table of contents precedes the headings.
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
    """Return the headings on one line each. Empty and too long texts are left out."""
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
