"""Content blocks of a page, chosen by score.

Trees learned the score from labelled pages, and a cut selects the blocks.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import lxml.html
import numpy as np
from numpy.typing import NDArray

from core.reading.html.block_features import block_features, shares
from core.reading.html.introduced_lists import introduced_lists, raise_scores, with_lists
from core.reading.html.page_kinds import page_signs, reason
from core.reading.html.text_blocks import Block, page_blocks, write_blocks
from core.reading.normalization import paragraphs
from core.reading.page_parts.block_words import WORDS, BlockWords, Matrix

WEIGHTS = Path(__file__).with_name("block_weights.npz")
DIGEST = "c60b63e352d83523e92aa6d114f4e94fd614d0901c4f581754a7dab6fef60936"
"""SHA-256 of the weights. Other weights are refused."""
_LOWEST, _HIGHEST = 0.1, 0.8
"""Bounds of the cut, the lowest score of a kept block."""
_CAUTION = 0.9
"""Share of the expected content that is wanted. Below 1, fewer blocks are kept."""
_LEAD, _DOUBT = 0.1, 1.5
"""Minimum gain in expected F1 for an article's blocks to replace trafilatura's text.

It is `_LEAD`, plus `_DOUBT` times the scores' doubt and the chance of the page's kind.
"""
_MIN_CHARACTERS = 200
"""Characters of blocks below which a page of another kind is also read as an article."""
_SECTIONS = frozenset({"h2", "h3", "h4", "h5", "h6"})
_MIN_HEADING, _MIN_SECTION, _OPENING = 0.5, 30, 8
"""The lowest score of a heading to add, the characters of text below it, and the words by which it is found."""
_ALIKE = 0.7
"""Weight of the mean score of blocks in like places."""
_DIGITS = re.compile(r"\d+")
_ROWS = 1_000
"""Blocks that are scored at a time."""


@cache
def _weights() -> Mapping[str, NDArray[np.generic]]:
    """Return the arrays of the weights. `signs` has the kinds' weights, and each tree (a row) its nodes."""
    stored = WEIGHTS.read_bytes()
    if hashlib.sha256(stored).hexdigest() != DIGEST:
        raise RuntimeError(
            f"{WEIGHTS.name} is not the file that this edition was measured with: install it again"
        )
    with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
        return dict(arrays)


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen text of a page, its extractor, and the deciding scores."""

    text: str
    extractor: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class KnownPage:
    """A page with its kind.

    `reason` has the signs of the `kind`. Both are "" for an empty page.
    """

    kind: str = ""
    reason: str = ""
    shares: tuple[float, ...] = ()
    """The chance of each kind."""
    blocks: Sequence[Block] = ()
    words: BlockWords | None = None

    @classmethod
    def of(cls, tree: lxml.html.HtmlElement, html: str, url: str) -> KnownPage:
        """Return the page of a tree and its markup. Hidden elements were removed from the tree."""
        blocks = page_blocks(tree, buttons=True)
        if not blocks:
            return cls()
        words, weights = BlockWords.of(blocks), _weights()
        signs = page_signs(html, url, blocks, words.said)
        values = np.array([signs.get(str(name), 0.0) for name in weights["signs"]])
        chances = _softmax(weights["kinds"] @ values + weights["kind_bias"])
        best = int(chances.argmax())
        why = reason(dict(zip(map(str, weights["signs"]), weights["kinds"][best] * values, strict=True)))
        return cls(str(weights["kind_names"][best]), why, tuple(chances.tolist()), blocks, words)

    def content(self, articles: Iterable[str], candidates: Sequence[str]) -> Choice:
        """Return the content of the page.

        An article is the first non-empty text of `articles`, which an extractor made, unless the blocks with
        high scores have a much higher expected F1 of words. Other pages are these blocks. `candidates` are
        the texts of extractors: text, comments, text.
        """
        if self.words is None:
            return Choice(next(filter(None, articles), ""), "trafilatura")
        words = self.words.words
        scores = _scores(block_features(self.blocks, self.words, candidates, self.shares))
        lists = introduced_lists(self.blocks, self.words)
        scores = raise_scores(_levelled(scores, self.blocks), lists)
        keep = kept(scores, words)
        expected = _expected_f1(scores, words, keep)
        why = f"F1 expected of its scored blocks: {expected:.2f}"
        text = paragraphs(
            write_blocks(block for block, is_kept in zip(self.blocks, keep, strict=True) if is_kept)
        )
        lead = _LEAD + _DOUBT * max(self.shares) * (1 - expected)
        short = len(text) < _MIN_CHARACTERS
        for article in filter(None, articles if short or self.kind == "article" else ()):
            taken = np.array(shares(words, [article]))[:, 0]
            other = _expected_f1(scores, words, taken, len(WORDS.findall(article.lower())))
            why += f", of trafilatura's article: {other:.2f}"
            if expected - other <= lead or (short and len(article) > len(text)):
                whole = with_lists(article, self.blocks, scores, taken, lists)
                return Choice(with_headings(whole, self.blocks, words, scores), "trafilatura", why)
        return Choice(text, "scored blocks", why)


def with_headings(
    article: str,
    blocks: Sequence[Block],
    words: Sequence[Sequence[str]],
    scores: Sequence[float] | NDArray[Any],
) -> str:
    """Return the article with the section headings that its extractor left out.

    Such are headings with a high score, directly above a text that opens one line of the article.
    """
    lines = article.split("\n")
    read = [tuple(WORDS.findall(line.lower())) for line in lines]
    whole, openings = set(read), Counter(line[:_OPENING] for line in read)
    places = {line[:_OPENING]: place for place, line in enumerate(read)}
    above: dict[int, str] = {}
    for number, (block, inside) in enumerate(zip(blocks, words, strict=True)):
        if block.element.tag not in _SECTIONS or scores[number] <= _MIN_HEADING or tuple(inside) in whole:
            continue
        for following, text in zip(
            blocks[number + 1 : number + 3], words[number + 1 : number + 3], strict=True
        ):
            opening = tuple(text[:_OPENING])
            if len(following.text) >= _MIN_SECTION and following.element.tag not in _SECTIONS:
                if openings[opening] == 1:
                    above[places[opening]] = block.text
                break
    added = (f"{above[place]}\n{line}" if place in above else line for place, line in enumerate(lines))
    return paragraphs("\n".join(added)) if above else article


def _expected_f1(
    scores: NDArray[np.float64], words: Sequence[Sequence[str]], taken: NDArray[Any], length: int = 0
) -> float:
    """Return the expected F1 of words of a text.

    `taken` has the text's share of each block, and `length` its number of words if it is not made of blocks.
    The text has no more of the blocks than `length`. Its words outside all blocks are not scored, and count
    as right.
    """
    sizes = np.array([len(inside) + 0.1 for inside in words])
    inside = taken * sizes
    more = 0.0
    if length:
        inside = inside * min(1.0, length / max(inside.sum(), 0.1))
        more = max(length - inside.sum(), 0.0)
    right = scores @ inside + more
    return float(2 * right / (inside.sum() + scores @ sizes + 2 * more))


def kept(scores: NDArray[np.float64], words: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
    """Return a mask of the kept blocks. The cut maximizes the expected F1 of words."""
    sizes = np.array([len(inside) + 0.1 for inside in words])
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum((scores * sizes)[order])
    expected = 2 * right / (np.cumsum(sizes[order]) + _CAUTION * right[-1])
    cut = np.clip(scores[order[int(expected.argmax())]], _LOWEST, _HIGHEST)
    return scores >= min(float(cut), float(scores.max()))


def _scores(features: Matrix) -> NDArray[np.float64]:
    """Return each block's chance of being content. A row is a block."""
    trees, weights = _Trees.of(), _weights()
    result = []
    for start in range(0, len(features), _ROWS):
        part = features[start : start + _ROWS]
        values, rows = part.ravel(), np.arange(len(part), dtype=np.int32) * part.shape[1]
        nodes = np.repeat(trees.roots[:, None], len(part), 1)
        for _ in range(int(weights["depth"])):
            smaller = values.take(rows + trees.feature.take(nodes)) <= trees.threshold.take(nodes)
            nodes = trees.following.take(2 * nodes + smaller)
        result.append(trees.value.take(nodes).sum(0) + weights["bias"])
    return 1 / (1 + np.exp(-np.concatenate(result).astype(np.float64)))


def _levelled(scores: NDArray[np.float64], blocks: Sequence[Block]) -> NDArray[np.float64]:
    """Return the scores of blocks nearer to their mean over the blocks in like places, such as titles of a list's items."""
    _, members = np.unique(_places(blocks), return_inverse=True)
    means = np.bincount(members, scores) / np.bincount(members)
    return (1 - _ALIKE) * scores + _ALIKE * means[members]


def _places(blocks: Sequence[Block]) -> list[int]:
    """Return a number for the place of each block: the tags and first classes of the elements around it."""
    known: dict[Any, int] = {None: 0}
    numbers: dict[tuple[int, str, str], int] = {}
    for block in blocks:
        path = [block.element, *block.element.iterancestors()]
        start = next((place for place, element in enumerate(path) if element in known), len(path))
        number = known[path[start]] if start < len(path) else 0
        for element in reversed(path[:start]):
            first = _DIGITS.sub("", (element.get("class") or "").partition(" ")[0])
            number = known[element] = numbers.setdefault((number, element.tag, first), len(numbers) + 1)
    return [known[block.element] for block in blocks]


@dataclass(frozen=True, slots=True)
class _Trees:
    """The nodes of all trees in one array. numpy indexes it twice as fast as rows and columns."""

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    following: NDArray[np.int32]
    """Two per node: the next node if the feature is above the threshold, and the next node if not."""
    value: NDArray[np.float32]

    @classmethod
    @cache
    def of(cls) -> _Trees:
        """Return the trees of the weights."""
        weights = _weights()
        count, size = weights["feature"].shape
        roots = np.arange(count, dtype=np.int32) * size
        children = [weights[name].astype(np.int32) + roots[:, None] for name in ("above", "below")]
        return cls(
            roots,
            weights["feature"].astype(np.int32).ravel(),
            weights["threshold"].astype(np.float32).ravel(),
            np.stack(children, -1).ravel(),
            weights["value"].astype(np.float32).ravel(),
        )


def _softmax(values: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(values - values.max())
    shares: NDArray[np.float64] = powers / powers.sum()
    return shares
