"""Repeated parts of a page: posts and items.

Each is a section of the article. A post has its author and day as heading, an item its title.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, zip_longest

import lxml.html

from core.reading.html.text_blocks import Block
from core.reading.normalization import clean_line, normalize

_TYPE = re.compile(r"(?:Comment|Answer|Question|DiscussionForumPosting|SocialMediaPosting)\s*$")
_CLASS = re.compile(
    r"(?:^|\s)(?:post|comment|message|reply|answer|cpost|tpost|postcontainer|ipsentry|comment-node)(?:$|\s)",
    re.IGNORECASE,
)
_AUTHOR = re.compile(r"(?:^|[\s_-])(?:author|user-?name|creator|poster)(?:$|[\s_-])", re.IGNORECASE)
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_WITH_ITEMS = ("collection", "listing")
_FIRST_TEXTS = 4
_MIN_CHARACTERS, _MIN_TITLE = 12, 3
"""Characters of a text, and of an item's title, that locate a part in the article."""
_FEWEST_ITEMS, _MOST_TITLED = 3, 0.8
"""Minimum items of a list, and their minimum share of the elements with equal markup."""
_KEY = 40
"""Characters at the beginning of a line that identify it."""
_MARKS, _NUMBERS = re.compile(r"[\W_]*"), re.compile("[0-9]+")


@dataclass(slots=True, eq=False)
class Part:
    """A post or an item: its heading, and the beginnings of its texts. These locate it in an article."""

    around: Part | None = None
    title: str = ""
    author: str = ""
    date: str = ""
    texts: list[str] = field(default_factory=list)
    before: Sequence[str] = ()
    """Beginnings of the blocks before the first text, in reverse order."""
    blocks: tuple[int, int] = (0, 0)
    """The first block on the page, and the block after the last. Unused for posts."""

    @property
    def heading(self) -> str:
        """The title, or else author and day, or ""."""
        return self.title or ", ".join(filter(None, (self.author, self.date)))


Sections = tuple[tuple[int, str], ...]
Lists = tuple[Sequence[Part], ...]
"""Parts with equal markup, in order, for all lists of a page."""


def html_parts(tree: lxml.html.HtmlElement, blocks: Sequence[Block], kind: str) -> Lists:
    """Return the items of a listing page, and the posts of any page."""
    return (*(html_items(tree, blocks) if kind in _WITH_ITEMS else ()), *html_posts(tree, blocks))


def html_posts(tree: lxml.html.HtmlElement, blocks: Sequence[Block]) -> Lists:
    """Return the posts in a tree with these blocks.

    schema.org's types or usual class names identify posts, if two or more have an author or a day. The texts
    of a post without both belong to the post around it.
    """
    posts: dict[Part, None] = {}
    nearest: dict[lxml.html.HtmlElement, Part] = {}
    for element in tree.iter():
        around = nearest.get(element.getparent()) if nearest else None
        classes, kind = element.get("class") or "", element.get("itemtype")
        if (kind and _TYPE.search(kind)) or (classes and _is_post(classes)):
            posts[around := Part(around)] = None
        if around is None:
            continue
        nearest[element] = around
        names = f"{classes} {element.get('itemprop') or ''}"
        if not around.author and _AUTHOR.search(names):
            # A single letter replaces a picture.
            texts = (text for text in element.itertext() if len(text.strip()) > 1)
            around.author = clean_line(next(texts, element.get("content")), 60)
        if not around.date:
            day = element.get("datetime") or ("date" in names and element.get("content"))
            around.date = clean_line(day, 10)
    if sum(bool(post.heading) for post in posts) < 2:
        return ()
    for number, block in enumerate(blocks):
        post = nearest.get(block.element)
        while post is not None and not post.heading:
            post = post.around
        if post is None:
            continue
        post.blocks = post.blocks[0] if post.blocks[1] else number, number + 1
        if len(block.text) >= _MIN_CHARACTERS and len(post.texts) < _FIRST_TEXTS:
            post.texts.append(_key(block.text))
    return ([post for post in posts if post.texts],)


@lru_cache(1_000)
def _is_post(classes: str) -> bool:
    """Whether usual class names identify an element as a post."""
    return _CLASS.search(classes) is not None


def html_items(tree: lxml.html.HtmlElement, blocks: Sequence[Block]) -> Lists:
    """Return the lists of items in a tree with these blocks.

    Items are elements with equal markup. Most of them have a naming heading or link, a link, and another
    text. A list can also be such titles, each followed by its text.
    """
    ranges = _ranges(tree, blocks)
    signatures = {element: _signature(element) for element in ranges}
    alike: dict[tuple[str, str], list[lxml.html.HtmlElement]] = defaultdict(list)
    for element, signature in signatures.items():
        if (above := element.getparent()) is not None:
            alike[signatures[above], signature].append(element)
    lists = []
    for elements in alike.values():
        if len(elements) >= _FEWEST_ITEMS:
            texts = Counter(block.text for element in elements for block in blocks[slice(*ranges[element])])
            items = list(_items(elements, blocks, ranges, texts))
            if len(items) >= max(_FEWEST_ITEMS, _MOST_TITLED * len(elements)):
                lists.append([_item(blocks, texts, *item) for item in items])
    return tuple(lists)


def part_sections(text: str, lists: Lists) -> Sections:
    """Return the offsets and headings of the parts in a text.

    Missing parts are left out. If lists overlap, the list with the most parts in the text counts.
    """
    if not lists:
        return ()
    lines = _Lines(text)
    located = [list(lines.starts(parts)) for parts in lists]
    sections: dict[int, str] = {}
    taken = bytearray(max(part.blocks[1] for parts in lists for part in parts))
    for starts in sorted(located, key=len, reverse=True):
        free = [(start, part) for start, part in starts if not any(taken[slice(*part.blocks)])]
        if len(free) >= (_FEWEST_ITEMS if free and free[0][1].title else 1):
            for start, part in free:
                sections.setdefault(start, part.heading)
                taken[slice(*part.blocks)] = b"\1" * (part.blocks[1] - part.blocks[0])
    return tuple(sorted(sections.items()))


def with_parts(headings: Sections, parts: Sections) -> Sections:
    """Return the sections of an article from its headings and parts.

    A title at the beginning of its item is one section.
    """
    sections: dict[int, str] = {}
    title = ""
    names = dict(parts)
    for start, name in sorted((dict(headings) | names).items()):
        if start in names or _key(name) != title:
            sections[start] = name
        title = _key(name) if start in names else title
    return tuple(sections.items())


class _Lines:
    """The lines of a text by their beginnings."""

    def __init__(self, text: str) -> None:
        self._keys: list[str] = []
        self._offsets: list[int] = []
        self._numbers: dict[str, list[int]] = defaultdict(list)
        offset = 0
        for line in text.split("\n"):
            if line:
                self._keys.append(key := _key(line))
                self._numbers[key].append(len(self._offsets))
                self._offsets.append(offset)
            offset += len(line) + 1

    def starts(self, parts: Sequence[Part]) -> Iterator[tuple[int, Part]]:
        """Yield the offsets of the first lines of parts, in order."""
        done = 0
        for part in parts:
            for text in part.texts:
                numbers = self._numbers.get(text, [])
                if (place := bisect_left(numbers, done)) < len(numbers):
                    number = first = numbers[place]
                    for before in part.before if text == part.texts[0] else ():
                        first -= first > done and self._keys[first - 1] == before
                    yield self._offsets[first], part
                    done = number + 1
                    break


def _ranges(
    tree: lxml.html.HtmlElement, blocks: Sequence[Block]
) -> dict[lxml.html.HtmlElement, tuple[int, int]]:
    """Return the elements with blocks, in order, and their block ranges.

    A range has the first block and the block after the last.
    """
    ranges: dict[lxml.html.HtmlElement, tuple[int, int]] = {}
    for number, block in enumerate(blocks):
        ranges[block.element] = ranges.get(block.element, (number, 0))[0], number + 1
    elements = list(tree.iter())
    for element in reversed(elements):
        above = element.getparent()
        if element in ranges and above is not None:
            first, end = ranges[element]
            low, high = ranges.get(above, (first, end))
            ranges[above] = min(first, low), max(end, high)
    return {element: ranges[element] for element in elements if element in ranges}


def _items(
    elements: Sequence[lxml.html.HtmlElement],
    blocks: Sequence[Block],
    ranges: Mapping[lxml.html.HtmlElement, tuple[int, int]],
    texts: Mapping[str, int],
) -> Iterator[tuple[int, int, int]]:
    """Yield the items among elements with equal markup.

    An item is its first block, its title and its end. `texts` counts each text in the elements.
    """
    widest = 1
    for element, following in zip_longest(elements, elements[1:]):
        first, end = ranges[element]
        inside = blocks[first:end]
        title = next((n for n, block in enumerate(inside) if block.element.tag in _HEADINGS), None)
        if title is None:
            title = next(
                (n for n, block in enumerate(inside) if texts[block.text] == 1 and _names(block)), None
            )
        if title is None or not any(block.linked for block in inside):
            continue
        if end == first + 1:  # the title alone, with its text after it
            above = element.getparent()
            if following is not None and following.getparent() is above:
                end = ranges[following][0]
            elif above is not None:
                end = min(ranges[above][1], first + widest)
            widest = max(widest, end - first)
        if end > first + 1:
            yield first, first + title, end


def _item(blocks: Sequence[Block], texts: Mapping[str, int], first: int, title: int, end: int) -> Part:
    others = (block.text for block in blocks[title + 1 : end] if len(block.text) >= _MIN_CHARACTERS)
    unique = islice((text for text in others if texts[text] == 1), _FIRST_TEXTS - 1)
    return Part(
        title=clean_line(blocks[title].text, 120),
        texts=[_key(text) for text in (blocks[title].text, *unique)],
        before=[_key(block.text) for block in reversed(blocks[first:title])],
        blocks=(first, end),
    )


def _names(block: Block) -> bool:
    """Whether a block may be an item's title: a link with a word."""
    return (
        2 * block.linked >= len(block.text) >= _MIN_TITLE
        and re.search(r"[^\W\d_]{2}", block.text) is not None
    )


def _signature(element: lxml.html.HtmlElement) -> str:
    """Return an element's tag and first class, without numbers."""
    names = (element.get("class") or "").split(None, 1)
    return f"{element.tag} {_NUMBERS.sub('', names[0]) if names else ''}"


def _key(line: str) -> str:
    """Return the beginning of a text's first line. Item and quotation marks before it are removed."""
    first = normalize(line[:200]).partition("\n")[0]
    return first[_MARKS.match(first).end() :][:_KEY]  # type: ignore[union-attr]
