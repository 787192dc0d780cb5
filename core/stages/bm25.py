"""BM25 scores of the passages of an index."""

from __future__ import annotations

from threading import Lock

from cachetools import LRUCache, cached

from core.model import Passage
from core.text.lexicon import Lexicon, Scores, tokens

LEXICONS = 8
"""Lexicons in memory: retuning ranks the same passages again."""


def bm25(question: str, passages: tuple[Passage, ...], language: str = "") -> Scores:
    """BM25 of each passage for the question, as `Lexicon.scores` has it: float32, 0 and up.

    `language` is an ISO 639-1 code that selects the stemmer; empty, it is detected from the passages. The
    lexicons of the last few tuples of passages are cached.
    """
    lexicon, _ = _lexicon(passages, language)
    return lexicon.scores(dict.fromkeys(tokens(question, lexicon.language)))


def prepare_bm25(passages: tuple[Passage, ...]) -> None:
    """Build the lexicon of the passages now, so that the first ranking by BM25 does not wait for it."""
    _lexicon(passages, "")


@cached(LRUCache(LEXICONS), key=lambda passages, language: (id(passages), language), lock=Lock())
def _lexicon(passages: tuple[Passage, ...], language: str) -> tuple[Lexicon, tuple[Passage, ...]]:
    """The lexicon, with the passages: as long as they are in the cache, their `id` is not reused."""
    return Lexicon.of([passage.text for passage in passages], language), passages
