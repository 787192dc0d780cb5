"""Score the passages of an index by BM25."""

from collections.abc import Iterable, Mapping
from threading import Lock
from types import MappingProxyType

from cachetools import LRUCache, cached

from core.model import Page, Passage
from core.text.bm25_index import Bm25Index, Scores, tokens
from core.text.content_words import without_function_words

NO_PAGES: Mapping[str, Page] = MappingProxyType({})
CACHED_INDEXES = 8
"""Cached indexes: retuning ranks the same passages again."""


def bm25(
    question: str, passages: tuple[Passage, ...], pages: Mapping[str, Page] = NO_PAGES, *, keep: bool = True
) -> Scores:
    """Score each passage for the question by BM25.

    The scores are those of `Bm25Index.scores`: float32, not negative. A passage is scored with the title of its page
    and the heading of its section if `pages` has them, because a passage of a long page seldom repeats the page's
    subject. Without `keep` the index of these passages is not cached.
    """
    index = bm25_index(passages, pages, keep=keep)
    return index.scores(question_stems(question, index.language))


def question_stems(question: str, language: str) -> Iterable[str]:
    """Return the distinct stems of a question without its function words, or of all words if it has no other.

    Where all passages are about the subject of the question, "how", "do" and "I" are rarer than its nouns, so they
    would weigh more: a line `for i in 1..10` would be the best match of "How do I create a new thread?"
    """
    content = " ".join(without_function_words(question, language))
    return dict.fromkeys(tokens(content or question, language))


def bm25_index(
    passages: tuple[Passage, ...], pages: Mapping[str, Page] = NO_PAGES, *, keep: bool = True
) -> Bm25Index:
    """Return the BM25 index of these passages.

    With `keep` the last few are cached, so that an index can be built ahead.
    """
    return _index(passages, pages)[0] if keep else _built(passages, pages)


@cached(LRUCache(CACHED_INDEXES), key=lambda passages, pages: (id(passages), bool(pages)), lock=Lock())
def _index(passages: tuple[Passage, ...], pages: Mapping[str, Page]) -> tuple[Bm25Index, tuple[Passage, ...]]:
    """Build the index. It is cached with the passages, so that their `id` is not reused."""
    return _built(passages, pages), passages


def _built(passages: tuple[Passage, ...], pages: Mapping[str, Page]) -> Bm25Index:
    return Bm25Index.build([_with_titles(passage, pages) for passage in passages])


def _with_titles(passage: Passage, pages: Mapping[str, Page]) -> str:
    if (page := pages.get(passage.place.page)) is None:
        return passage.text
    return f"{page.title}\n{page.article.section_at(passage.place.start)}\n{passage.text}"
