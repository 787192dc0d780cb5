"""Search the demo library, a folder of Markdown articles, without any network: BM25, or meaning across languages."""

from __future__ import annotations

import asyncio
import hashlib
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from core.config.knobs import SearchKnobs
from core.errors import EmbedFailed, SearchFailed
from core.model import Result, SearchReply
from core.ports import Embed
from core.text.bm25_index import Bm25Index, tokens
from core.text.content_words import content_words
from core.text.language import dominant_language
from core.text.sanitize import one_line
from core.text.sentences import sentences

SITE = "https://handbook.openquery.example"
"""The site of the articles. The demo web serves them at these addresses."""

SNIPPET = 200
"""The approximate characters of a snippet."""

TITLE_WEIGHT = 3
"""The number of times that a title counts as words of its article, because it names the article's subject."""

_RRF_K = 60
"""The constant of reciprocal rank fusion."""

_EVERYWHERE = {
    "an", "and", "are", "as", "at", "be", "but", "by", "for", "from", "if", "in", "into", "is", "it", "no", "not",
    "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will",
    "with",
}  # fmt: skip
"""English words that are common to all articles."""


@dataclass(frozen=True, slots=True)
class DemoArticle:
    """An article of the handbook."""

    slug: str
    title: str
    paragraphs: tuple[str, ...]
    """Plain prose, without headings, code blocks and see-also lines."""

    @property
    def words(self) -> str:
        """The indexed text, with the title several times."""
        return " ".join([*[self.title] * TITLE_WEIGHT, *self.paragraphs])


class DemoSearch:
    """A `Search` port over `folder/*.md`, which is read and indexed once, on first use, off the event loop."""

    def __init__(self, folder: Path, multilingual: Callable[[], Embed] | None = None) -> None:
        """Search `folder`, with the embedder of `multilingual` for a question in another language than English."""
        self._folder, self._multilingual = folder, multilingual
        self._lock = threading.Lock()
        self._built: DemoIndex | None = None

    @cached_property
    def identity(self) -> str:
        """An identity that changes with the articles."""
        digest = hashlib.sha256()
        for path in sorted(self._folder.glob("*.md")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return f"demo {digest.hexdigest()[:16]}"

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        """Find the best articles by BM25. A query in another language is searched by meaning too.

        Its function words look like English words ("was", "die"), so that only its other words are searched.
        """
        index = await asyncio.to_thread(self._index)
        language = dominant_language([query])
        foreign = language not in ("", "en")
        stems = stems_of(" ".join(content_words(query, language)) if foreign else query)
        articles = await asyncio.to_thread(index.best, stems, knobs.results)
        if self._multilingual and foreign:
            articles = _fused(articles, await index.nearest(query, self._multilingual(), knobs.results))
            articles = articles[: knobs.results]
        return SearchReply(backend="demo", results=await asyncio.to_thread(_results, articles, stems))

    def _index(self) -> DemoIndex:
        with self._lock:
            self._built = self._built or DemoIndex(read_articles(self._folder))
            return self._built


def _fused(*rankings: Sequence[DemoArticle]) -> list[DemoArticle]:
    """Fuse rankings by reciprocal ranks. Of articles with equal scores, the later ranking decides."""
    scores = defaultdict[DemoArticle, float](float)
    for ranking in reversed(rankings):
        for rank, article in enumerate(ranking, 1):
            scores[article] += 1 / (_RRF_K + rank)
    return sorted(scores, key=lambda article: -scores[article])


def _results(articles: Sequence[DemoArticle], stems: Sequence[str]) -> tuple[Result, ...]:
    return tuple(
        Result(
            url=f"{SITE}/{article.slug}",
            title=article.title,
            snippet=snippet(article, frozenset(stems)),
            rank=rank,
            engines=("handbook",),
        )
        for rank, article in enumerate(articles, 1)
    )


class DemoIndex:
    """Articles by BM25 with English stems. An article that shares no stem with the query scores 0."""

    def __init__(self, articles: Sequence[DemoArticle]) -> None:
        self._articles = articles
        self._index = Bm25Index.build([article.words for article in articles], "en")

    def best(self, stems: Sequence[str], limit: int) -> list[DemoArticle]:
        """Find at most `limit` articles that share a stem. They are ordered by score, then by name."""
        scores = self._index.scores(stems)
        order = sorted(range(len(self._articles)), key=lambda row: -scores[row])
        return [self._articles[row] for row in order[:limit] if scores[row] > 0]

    async def nearest(self, query: str, embed: Embed, limit: int) -> list[DemoArticle]:
        """Find articles with a lead close to the query.

        The lead is title and first paragraph. At most `limit` are returned, and none if the embedder fails.
        """
        leads = [f"{article.title}. {' '.join(article.paragraphs[:1])}" for article in self._articles]
        try:
            vectors = (await embed([query, *leads])).vectors
        except EmbedFailed:
            return []
        order = np.argsort(-(vectors[1:] @ vectors[0]), kind="stable")
        return [self._articles[row] for row in order[:limit]]


def stems_of(text: str) -> list[str]:
    """Return the text's stems, without very common words. Words of one letter are skipped."""
    return [stem for stem in tokens(text, "en") if len(stem) > 1 and stem not in _EVERYWHERE]


def read_articles(folder: Path) -> tuple[DemoArticle, ...]:
    """Read the folder's titled articles in order of name. They are the `*.md` files that begin with a title.

    Raises:
        SearchFailed: when the folder has none.
    """
    articles = (_article(path.stem, path.read_text("utf-8")) for path in sorted(folder.glob("*.md")))
    titled = tuple(article for article in articles if article.title)
    if not titled:
        raise SearchFailed(
            f"The demo library has no articles in {folder}.",
            hint="Start OpenQuery from its checkout, where docs/handbook is.",
        )
    return titled


def snippet(article: DemoArticle, stems: frozenset[str]) -> str:
    """Quote the sentence with most of the query's words.

    The snippet continues to about 200 characters of its paragraph.
    """
    best, most = "", -1
    for paragraph in article.paragraphs:
        spans = [paragraph[start:end].strip() for start, end in sentences(paragraph)]
        for number, sentence in enumerate(spans):
            if (shared := len(stems.intersection(stems_of(sentence)))) > most:
                best, most = " ".join(spans[number:]), shared
    return one_line(best, SNIPPET)


def _article(slug: str, markdown: str) -> DemoArticle:
    title = re.match(r"#\s+(.+)", markdown)
    prose = re.sub(r"^```.*?^```", "", markdown, flags=re.MULTILINE | re.DOTALL)
    paragraphs = (
        _plain(block) for block in re.split(r"\n\s*\n", prose) if not re.match(r"\s*(#|\||See also:)", block)
    )
    return DemoArticle(
        slug=slug, title=_plain(title[1]) if title else "", paragraphs=tuple(filter(None, paragraphs))
    )


def _plain(markdown: str) -> str:
    """Convert Markdown to one line of plain text.

    Links become their words, and list, emphasis and code marks are removed.
    """
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    text = re.sub(r"(?m)^\s*(?:[-*+]|\d+\.)\s+", "", text)
    return " ".join(re.sub(r"\*\*|`|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)", "", text).split())
