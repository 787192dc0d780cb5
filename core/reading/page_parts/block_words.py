"""The words of a page's blocks, and their subjects as numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from core.reading.html.text_blocks import Block

Matrix = NDArray[np.float32]

SAYS = {
    "rights reserved": "© copyright rights reserved terms privacy policy cookie cookies",
    "sign up": "subscribe newsletter signup login email password account sign-up sign-in log-in join-now",
    "share": "share tweet facebook twitter instagram pinterest linkedin whatsapp print follow-us",
    "read more": "read-more view-all see-all show-more load-more learn-more view-more see-more view-details",
    "add to cart": "shop-now add-to buy-now in-stock out-of cart checkout bag wishlist",
    "related": "related recommended recently popular trending similar latest archives categories you-may you-might more-from also-bought also-like read-next up-next",
    "replies": "reply replies replied post posts joined member members quote upvote upvotes reactions messages",
    "answers": "answer answers asked viewed accepted question questions",
    "comments": "comment comments likes ago",
    "price": "usd eur price sale discount msrp",
    "byline": "by von par por written published updated author posted min-read",
    "reviews": "review reviews rating ratings star stars verified out-of",
    "sorting": "sort filter filters showing results page previous next per-page select quantity qty clear-all sort-by",
    "sponsored": "advertisement sponsored affiliate commission promoted",
    "menu": "skip menu toggle close search home javascript loading back-to",
    "contact": "contact quote consultation appointment schedule call get-started contact-us book-now request-a free-consultation",
    "manual": "parameters returns example examples syntax deprecated install configuration api function default edit-this on-this",
    "specifications": "specifications specs dimensions weight material sku model features size-guide description ingredients",
}  # fmt: skip
"""Words and pairs of words that reveal a block's subject."""
_SAID: dict[str, int] = {}
for _place, _text in enumerate(SAYS.values()):
    for _word in _text.split():
        _SAID[_word] = _SAID.get(_word, 0) | 1 << _place
_MONEY = re.compile(r"[$€£¥₹] ?\d|\d ?[€£]")
_YEAR = re.compile(r"(?:19|20)\d\d")
_MAX_WORDS = 60
"""Number of words at a block's beginning to look up."""
WORDS = re.compile(r"\w+")
SAID = len(SAYS) + 2
"""Columns of a block's subjects: `SAYS`, an amount of money, a year."""


@dataclass(frozen=True, slots=True)
class BlockWords:
    """The words of each block, and its subjects.

    The subjects are a row of `SAID` numbers (0 or 1) for each block.
    """

    words: list[list[str]]
    said: Matrix

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> BlockWords:
        """The words in lower case."""
        words = [WORDS.findall(block.text.lower()) for block in blocks]
        masks = []
        for block, inside in zip(blocks, words, strict=True):
            first = inside[:_MAX_WORDS]
            mask = 0
            for word in first:
                mask |= _SAID.get(word, 0)
            for pair in map("-".join, pairwise(first)):
                mask |= _SAID.get(pair, 0)
            text = block.text[: 8 * _MAX_WORDS]
            mask |= ("©" in text) | (_MONEY.search(text) is not None) << SAID - 2
            mask |= (_YEAR.search(text) is not None) << SAID - 1
            masks.append(mask)
        return cls(words, bits(np.array(masks, np.int64), SAID))


def bits(values: NDArray[np.int64], width: int) -> Matrix:
    """Return the lowest bits of each value as a row of 0 and 1."""
    return ((values[:, None] >> np.arange(width)) & 1).astype(np.float32)
