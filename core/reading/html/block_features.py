"""Features of a page's blocks, to decide whether they are content."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import lxml.html
import numpy as np
from numpy.typing import NDArray

from core.reading.html.text_blocks import Block
from core.reading.page_parts.block_words import SAID, WORDS, BlockWords, Matrix, bits

_AREAS = {
    "nav": 0, "navigation": 0, "footer": 1, "contentinfo": 1, "aside": 2, "complementary": 2, "header": 3, "banner": 3,
    "form": 4, "search": 4, "main": 5, "article": 6, "ul": 7, "ol": 7, "table": 8, "figure": 9, "blockquote": 10,
    "dialog": 11, "details": 12, "dl": 13, "section": 14, "button": 15, "tablist": 15, "menu": 0, "menubar": 0, "listbox": 15,
}  # fmt: skip
"""Tags and roles, with the number of the area that they open."""
_NAMES = (
    "comment disqus", "post entry message", "reply replies answer response", "product item sku", "sidebar side widget rail",
    "related recommend similar upsell cross also suggest", "share social follow", "cookie consent gdpr privacy",
    "breadcrumb crumb", "menu nav dropdown drawer", "foot copyright legal", "head masthead topbar top",
    "content body main text prose markdown description detail summary excerpt", "article story blog",
    "card tile grid list result teaser", "author byline meta date time user avatar profile signature",
    "modal popup overlay banner alert toast notice promo", "ad ads advert sponsor adsense", "tag tags categor topic",
    "review rating stars testimonial quote", "price cart buy shipping stock offer", "newsletter subscribe signup login register",
    "pagin pager prev next", "filter sort facet search toolbar refine", "hidden sr visually screen skip",
    "toc contents", "faq accordion tab collapse panel", "hero intro lead headline title heading", "vote like score count badge views stat",
    "caption credit image gallery media slide carousel video", "feature service benefit cta pricing plan step",
    "spec attribute property table option variant swatch", "action button btn link edit tool control", "code highlight syntax snippet",
)  # fmt: skip
"""How words in classes and identifiers begin, by family."""
_LATIN = re.compile("[a-z]+|[A-Z][a-z]+|[A-Z]+")
_SENTENCE = re.compile(r"[.!?。！？](?:\s|$)")
_OTHERS = tuple(
    bytes(code for code in range(128) if not test(chr(code))) for test in (str.isdigit, str.isupper)
)
"""ASCII characters other than digits, and other than capitals."""
_KINDS = (
    "p", "li", "td", "table", "pre", "dt", "dd", "blockquote", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6", "div", "span",
    "a", "th", "button", "caption", "summary", "body", "section", "article",
)  # fmt: skip


@lru_cache(20_000)
def _families(word: str) -> int:
    return sum(1 << place for place, family in enumerate(_NAMES) if word.startswith(tuple(family.split())))


class _Contexts:
    """The elements around blocks, numbered from the outermost."""

    def __init__(self) -> None:
        self.number: dict[lxml.html.HtmlElement | None, int] = {None: 0}
        self.above, self.depth, self.areas, self.families, self.own, self.signature = (
            [0],
            [0],
            [0],
            [0],
            [0],
            [""],
        )
        self._families: dict[str, int] = {}

    def of(self, element: lxml.html.HtmlElement) -> int:
        """The number of an element."""
        missing = []
        around: Any = element
        while around not in self.number:
            missing.append(around)
            around = around.getparent()
        above = self.number[around]
        for inner in reversed(missing):
            above = self._add(inner, above)
        return above

    def _add(self, element: lxml.html.HtmlElement, above: int) -> int:
        tag = element.tag
        names = f"{element.get('class') or ''} {element.get('id') or ''} {element.get('itemprop') or ''}"[
            :300
        ]
        own = self._families.get(names, -1)
        if own < 0:
            own = 0
            for word in _LATIN.findall(names):
                own |= _families(word.lower())
            self._families[names] = own
        areas = self.areas[above]
        for name in (tag, element.get("role")):
            if name in _AREAS:
                areas |= 1 << _AREAS[name]
        deep = tag not in ("html", "body")
        number = len(self.above)
        self.number[element] = number
        self.above.append(above)
        self.depth.append(self.depth[above] + 1)
        self.areas.append(areas)
        self.own.append(own)
        self.families.append(self.families[above] | own if deep else 0)
        self.signature.append(f"{tag} {element.get('class') or ''}")
        return number


def shares(texts: Sequence[Sequence[str]], candidates: Sequence[str]) -> list[list[float]]:
    """Return each text's share in each candidate.

    The share is of three-word sequences. A shorter text must be a whole line.
    """
    runs, lines = [], []
    for candidate in candidates:
        lowered = candidate.lower()
        words = WORDS.findall(lowered)
        runs.append(set(zip(words, words[1:], words[2:], strict=False)))
        lines.append({tuple(WORDS.findall(line)) for line in lowered.split("\n") if len(line) < 60})
    result = []
    for text in texts:
        if len(text) < 3:
            result.append([float(tuple(text) in known) for known in lines])
        else:
            inside = list(zip(text, text[1:], text[2:], strict=False))
            result.append([sum(map(known.__contains__, inside)) / len(inside) for known in runs])
    return result


def block_features(
    blocks: Sequence[Block], spoken: BlockWords, candidates: Sequence[str], page: Sequence[float]
) -> Matrix:
    """Return the features, one row per block.

    `candidates` are the texts of extractors, the most trusted first. `page` are numbers of the whole page,
    which are equal in each row, and the last columns.
    """
    count = len(blocks)
    contexts = _Contexts()
    inside_of = np.array([contexts.of(block.element) for block in blocks])
    inclusion = np.array(shares(spoken.words, candidates), np.float32).reshape(count, -1)
    sizes = np.array([len(block.text) for block in blocks], np.float32)
    linked = np.array([block.linked for block in blocks], np.float32)
    density = linked / np.maximum(sizes, 1)
    texts = [_of_text(block, words) for block, words in zip(blocks, spoken.words, strict=True)]
    own = np.column_stack([np.array(texts, np.float32), spoken.said])
    parents, names = np.array(contexts.above), np.array(contexts.own)
    near = names[inside_of] | names[parents[inside_of]] | names[parents[parents[inside_of]]]
    inside = inclusion * sizes[:, None]
    total = float(sizes.sum()) or 1.0
    local = np.column_stack([np.log1p(sizes), density, inclusion, own[:, 2:5], own[:, 6:7]])
    smooth = np.column_stack([sizes, linked, inside, inclusion, density])
    whole = [math.log1p(count), math.log1p(total), linked.sum() / total, *(inside.sum(0) / total), *page]
    columns: list[NDArray[Any]] = [
        inclusion,
        density,
        own,
        bits(np.array(contexts.areas)[inside_of], 16),
        bits(np.array(contexts.families)[inside_of], len(_NAMES)),
        bits(near, len(_NAMES)),
        *_around(contexts, inside_of, np.column_stack([np.ones(count), sizes, linked, inside])),
        _repeated(blocks, contexts, inside_of),
        _places(blocks, sizes, inclusion[:, 0], np.array(contexts.depth)[inside_of]),
        _under_headings(blocks, own),
        *(_shift(local, by) for by in (-2, -1, 1, 2)),
        *(_window(smooth, radius, inclusion.shape[1]) for radius in (4, 12)),
        np.tile(np.array(whole, np.float32), (count, 1)),
    ]
    return np.column_stack(columns).astype(np.float32)


def _around(contexts: _Contexts, inside_of: NDArray[np.int64], values: Matrix) -> list[Matrix]:
    """Return sums of values over the elements around each block.

    The elements are the parent, the grandparent, and the nearest elements with five blocks and with a tenth
    of the page. The first columns of `values` are 1, characters, and characters in links.
    """
    above = contexts.above
    sums = np.zeros((len(above), values.shape[1]), np.float32)
    np.add.at(sums, inside_of, values)
    rows = sums.tolist()
    for number in range(len(rows) - 1, 0, -1):  # from the innermost outward
        row, outer = rows[number], rows[above[number]]
        for column, value in enumerate(row):
            outer[column] += value
    sums = np.array(rows, np.float32)
    total = float(values[:, 1].sum()) or 1.0
    wide, broad = [0] * len(rows), [0] * len(rows)
    for number in range(1, len(rows)):
        wide[number] = number if rows[number][0] >= 5 else wide[above[number]]
        broad[number] = number if rows[number][1] >= 0.1 * total else broad[above[number]]
    parents = np.array(above)
    levels = [
        sums[level]
        for level in (
            parents[inside_of],
            parents[parents[inside_of]],
            np.array(wide)[inside_of],
            np.array(broad)[inside_of],
        )
    ]
    return [
        np.column_stack(
            [np.log1p(level[:, 0]), level[:, 1] / total, level[:, 2:] / np.maximum(level[:, 1:2], 1)]
        )
        for level in levels
    ]


def _repeated(blocks: Sequence[Block], contexts: _Contexts, inside_of: NDArray[np.int64]) -> Matrix:
    """Return how often each block is repeated, as logarithms.

    Counted are blocks with equal markup, equal siblings of each element around the block, and equal texts on
    the page.
    """
    above, signature = contexts.above, contexts.signature
    chains = [
        (signature[number], signature[above[number]], signature[above[above[number]]])
        for number in inside_of.tolist()
    ]
    same = Counter(chains)
    siblings = Counter(zip(above, signature, strict=True))
    alike = np.log1p(np.array([siblings[pair] for pair in zip(above, signature, strict=True)], np.float32))
    texts = Counter(block.text for block in blocks)
    parents = np.array(above)
    fathers, grandfathers = parents[inside_of], parents[parents[inside_of]]
    return np.column_stack([
        np.log1p([same[chain] for chain in chains]),
        alike[inside_of], alike[fathers], alike[grandfathers], alike[parents[grandfathers]],
        np.log1p([texts[block.text] for block in blocks]),
    ])  # fmt: skip


def _places(blocks: Sequence[Block], sizes: Matrix, included: Matrix, depths: NDArray[np.int64]) -> Matrix:
    """Return each block's position on the page.

    Distances from the first main heading and the ends of the first candidate are included.
    """
    count = len(blocks)
    order = np.arange(count, dtype=np.float32)
    first = next((i for i, block in enumerate(blocks) if block.element.tag == "h1"), -1)
    places = np.flatnonzero(included > 0.5)
    begin, end = (int(places[0]), int(places[-1])) if len(places) else (0, count - 1)
    return np.column_stack([
        depths, (np.cumsum(sizes) - sizes) / (float(sizes.sum()) or 1.0), order / count,
        np.minimum(order, 50), np.minimum(count - order, 50),
        np.clip(order - first, -50, 50) if first >= 0 else np.full(count, -99),
        np.clip(order - begin, -50, 50), np.clip(end - order, -50, 50),
    ])  # fmt: skip


def _window(values: Matrix, radius: int, candidates: int) -> Matrix:
    """Return sums over blocks up to `radius` before and after each block.

    The columns are characters, shares of characters, and means.
    """
    count = len(values)
    sums = np.cumsum(np.vstack([np.zeros((1, values.shape[1])), values]), 0)
    order = np.arange(count)
    low, high = np.maximum(order - radius, 0), np.minimum(order + radius + 1, count)
    window, split = sums[high] - sums[low], 2 + candidates
    return np.column_stack([
        np.log1p(window[:, 0]), window[:, 1:split] / np.maximum(window[:, :1], 1), window[:, split:] / (high - low)[:, None],
    ])  # fmt: skip


def _of_text(block: Block, words: Sequence[str]) -> list[float]:
    text = block.text
    tag = block.element.tag
    size = len(text)
    kind = _KINDS.index(tag) if tag in _KINDS else len(_KINDS)
    ends = text[-1:] in '.!?:…。！？"”'
    if text.isascii():  # a tenth of the time of a loop
        digits, capitals = (len(text.encode().translate(None, others)) for others in _OTHERS)
    else:
        digits, capitals = sum(map(str.isdigit, text)), sum(map(str.isupper, text))
    return [
        kind, math.log1p(len(words)), math.log1p(len(_SENTENCE.findall(text))), float(ends),
        text.count(",") / max(size, 1) * 100, digits / size, float(kind in range(9, 15)),
        capitals / size, size / max(len(words), 1), float(text[:1].isupper()), math.log1p(size),
    ]  # fmt: skip


def _shift(rows: Matrix, by: int) -> Matrix:
    moved = np.full_like(rows, -1)
    if abs(by) < len(rows):
        if by > 0:
            moved[:-by] = rows[by:]
        else:
            moved[-by:] = rows[:by]
    return moved


def _under_headings(blocks: Sequence[Block], own: Matrix) -> Matrix:
    """Return the last heading above each block: level, distance and words."""
    result = np.zeros((len(blocks), 2 + SAID), np.float32)
    level, since, says = 0.0, 0, np.zeros(SAID, np.float32)
    for number, row in enumerate(own):
        since += 1
        result[number, 0], result[number, 1], result[number, 2:] = level, min(since, 40), says
        if row[6]:
            level, since, says = float(row[0]) - 8, 0, row[-SAID:]
    return result
