"""BM25 scores of the passages of an index."""

from collections.abc import Mapping
from threading import Lock
from types import MappingProxyType

from cachetools import LRUCache, cached

from core.model import Page, Passage
from core.text.bm25_index import Bm25Index, Scores, tokens

NO_PAGES: Mapping[str, Page] = MappingProxyType({})
CACHED_INDEXES = 8
"""Indexes in memory: retuning ranks the same passages again."""


def bm25(
    question: str, passages: tuple[Passage, ...], pages: Mapping[str, Page] = NO_PAGES, *, keep: bool = True
) -> Scores:
    """BM25 of each passage for the question, as `Bm25Index.scores` has it: float32, 0 and up.

    A passage is scored with the title of its page and the heading of its section, where `pages` has it: a passage of a
    long page seldom repeats what the page is about. Without `keep` the index of these passages is not cached.
    """
    index = bm25_index(passages, pages) if keep else _built(passages, pages)
    return index.scores(dict.fromkeys(tokens(question, index.language)))


def bm25_index(passages: tuple[Passage, ...], pages: Mapping[str, Page] = NO_PAGES) -> Bm25Index:
    """The index by which `bm25` scores these passages; the last few are cached, so that it can be built ahead."""
    index, _ = _index(passages, pages)
    return index


@cached(LRUCache(CACHED_INDEXES), key=lambda passages, pages: (id(passages), bool(pages)), lock=Lock())
def _index(passages: tuple[Passage, ...], pages: Mapping[str, Page]) -> tuple[Bm25Index, tuple[Passage, ...]]:
    """The index, with the passages: as long as they are in the cache, their `id` is not reused."""
    return _built(passages, pages), passages


def _built(passages: tuple[Passage, ...], pages: Mapping[str, Page]) -> Bm25Index:
    return Bm25Index.build([_with_titles(passage, pages) for passage in passages])


def _with_titles(passage: Passage, pages: Mapping[str, Page]) -> str:
    if (page := pages.get(passage.place.page)) is None:
        return passage.text
    return f"{page.title}\n{page.article.section_at(passage.place.start)}\n{passage.text}"
