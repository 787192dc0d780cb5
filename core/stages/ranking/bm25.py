"""BM25 scores of the passages of an index."""

from threading import Lock

from cachetools import LRUCache, cached

from core.model import Passage
from core.text.bm25_index import Bm25Index, Scores, tokens

CACHED_INDEXES = 8
"""Indexes in memory: retuning ranks the same passages again."""


def bm25(question: str, passages: tuple[Passage, ...], language: str = "") -> Scores:
    """BM25 of each passage for the question, as `Bm25Index.scores` has it: float32, 0 and up.

    `language` is an ISO 639-1 code that selects the stemmer; empty, it is detected from the passages. The
    indexes of the last few tuples of passages are cached.
    """
    index = bm25_index(passages, language)
    return index.scores(dict.fromkeys(tokens(question, index.language)))


def bm25_index(passages: tuple[Passage, ...], language: str = "") -> Bm25Index:
    """The index by which `bm25` scores these passages; the last few are cached."""
    index, _ = _index(passages, language)
    return index


def prepare_bm25(passages: tuple[Passage, ...]) -> None:
    """Build the index of the passages now, so that the first ranking by BM25 does not wait for it."""
    bm25_index(passages)


@cached(LRUCache(CACHED_INDEXES), key=lambda passages, language: (id(passages), language), lock=Lock())
def _index(passages: tuple[Passage, ...], language: str) -> tuple[Bm25Index, tuple[Passage, ...]]:
    """The index, with the passages: as long as they are in the cache, their `id` is not reused."""
    return Bm25Index.build([passage.text for passage in passages], language), passages
