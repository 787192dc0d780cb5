"""Which blocks of a page are its content: a score that trees learned from labelled pages, and a cut through it."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import lxml.html
import numpy as np
from numpy.typing import NDArray

from core.reading.html.block_features import block_features, shares
from core.reading.html.page_kinds import page_signs, reason
from core.reading.html.text_blocks import Block, page_blocks, write_blocks
from core.reading.normalization import paragraphs
from core.reading.page_parts.block_words import WORDS, BlockWords, Matrix

WEIGHTS = Path(__file__).with_name("block_weights.npz")
DIGEST = "762a37032095eb8f0fc3cfc62e9d5124453039aaa756749151407aa37ca7f18f"
"""SHA-256 of the weights, which are read only if they are these."""
_LOWEST, _HIGHEST = 0.1, 0.8
"""Bounds of the score from which a block is kept."""
_CAUTION = 0.9
"""How much of what the scores expect is taken for wanted: below 1, fewer blocks are kept."""
_LEAD, _DOUBT = 0.1, 1.5
"""How much more F1 must be expected of an article's blocks than of trafilatura's text to replace it: this much, and of what
their scores leave in doubt this share, by the chance that the page is an article."""
_MIN_CHARACTERS = 200
"""Characters of blocks below which a page of another kind is read as an article, too."""
_ROWS = 1_000
"""Blocks that are scored at a time."""


@cache
def _weights() -> Mapping[str, NDArray[np.generic]]:
    """The arrays of the weights: of `signs` the kinds' weights, of each tree (a row) the nodes."""
    stored = WEIGHTS.read_bytes()
    if hashlib.sha256(stored).hexdigest() != DIGEST:
        raise RuntimeError(
            f"{WEIGHTS.name} is not the file that this edition was measured with: install it again"
        )
    with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
        return dict(arrays)


@dataclass(frozen=True, slots=True)
class Choice:
    """The text of a page, what took it, and the scores by which it was chosen among others, in words."""

    text: str
    extractor: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class KnownPage:
    """A page whose kind is known: `kind`, told by the signs in `reason`; empty where nothing is on it."""

    kind: str = ""
    reason: str = ""
    shares: tuple[float, ...] = ()
    """The chance of each kind."""
    blocks: Sequence[Block] = ()
    words: BlockWords | None = None

    @classmethod
    def of(cls, tree: lxml.html.HtmlElement, html: str, url: str) -> KnownPage:
        """The page of a tree without what it hides, and of its markup."""
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
        """The content: of articles the first of `articles`, texts of an extractor, that is not empty, unless much more F1 of
        words is expected of the blocks with high scores; of other pages these blocks. `candidates` are what extractors take:
        text, comments, text.
        """
        if self.words is None:
            return Choice(next(filter(None, articles), ""), "trafilatura")
        words = self.words.words
        scores = _scores(block_features(self.blocks, self.words, candidates, self.shares))
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
                return Choice(article, "trafilatura", why)
        return Choice(text, "scored blocks", why)


def _expected_f1(
    scores: NDArray[np.float64], words: Sequence[Sequence[str]], taken: NDArray[Any], length: int = 0
) -> float:
    """The F1 of words that is expected of a text with these shares of the blocks, and of this many words if it is not made
    of blocks. It has no more of the blocks than that; words of it that no block has are not scored, and count as right.
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
    """Which blocks are kept: those from the score on with which the expected F1 of words is the largest."""
    sizes = np.array([len(inside) + 0.1 for inside in words])
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum((scores * sizes)[order])
    expected = 2 * right / (np.cumsum(sizes[order]) + _CAUTION * right[-1])
    cut = np.clip(scores[order[int(expected.argmax())]], _LOWEST, _HIGHEST)
    return scores >= min(float(cut), float(scores.max()))


def _scores(features: Matrix) -> NDArray[np.float64]:
    """The chance of each block (a row) to be content."""
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


@dataclass(frozen=True, slots=True)
class _Trees:
    """The nodes of all trees one after the other, which numpy looks up in half the time of rows and columns."""

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    following: NDArray[np.int32]
    """For each node two: the next one if the feature is above the threshold, and the next one if not."""
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
