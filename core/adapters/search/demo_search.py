"""Search in the demo library, a folder of Markdown articles, without any network: BM25, across languages by meaning."""

from __future__ import annotations

import asyncio
import hashlib
import re
import threading
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
from core.text.language import dominant_language
from core.text.sanitize import one_line
from core.text.sentences import sentences

SITE = "https://handbook.openquery.example"
"""Where the articles pretend to be; the demo web reads them at these addresses."""

SNIPPET = 200
"""About how many characters a snippet has."""

TITLE_WEIGHT = 3
"""How often a title counts as words of its article: someone chose it to say what the article is about."""


_EVERYWHERE = {
    "an", "and", "are", "as", "at", "be", "but", "by", "for", "from", "if", "in", "into", "is", "it", "no", "not",
    "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will",
    "with",
}  # fmt: skip
"""English words that tell nothing about an article."""


@dataclass(frozen=True, slots=True)
class DemoArticle:
    """An article of the handbook."""

    slug: str
    title: str
    paragraphs: tuple[str, ...]
    """Plain prose, without headings, code blocks and see-also lines."""

    @property
    def words(self) -> str:
        """The text that is indexed, with the title several times."""
        return " ".join([*[self.title] * TITLE_WEIGHT, *self.paragraphs])


class DemoSearch:
    """The `Search` port over `folder/*.md`. Read and indexed once, on first use, off the event loop."""

    def __init__(self, folder: Path, across: Callable[[], Embed] | None = None) -> None:
        """`across` gives an embedder of many languages, once a question shares no word with the articles."""
        self._folder, self._across = folder, across
        self._lock = threading.Lock()
        self._built: DemoIndex | None = None

    @cached_property
    def identity(self) -> str:
        """Changes with the articles."""
        digest = hashlib.sha256()
        for path in sorted(self._folder.glob("*.md")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return f"demo {digest.hexdigest()[:16]}"

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        """The articles that match best by BM25; for a query in another language that shares no word with any, by meaning."""
        index = await asyncio.to_thread(self._index)
        stems = stems_of(query)
        articles = await asyncio.to_thread(index.best, stems, knobs.results)
        if not articles and self._across and dominant_language([query]) not in ("", "en"):
            articles = await index.nearest(query, self._across(), knobs.results)
        return SearchReply(backend="demo", results=await asyncio.to_thread(_results, articles, stems))

    def _index(self) -> DemoIndex:
        with self._lock:
            self._built = self._built or DemoIndex(read_articles(self._folder))
            return self._built


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
        """At most `limit` articles that share a stem, best first; equal scores by name."""
        scores = self._index.scores(stems)
        order = sorted(range(len(self._articles)), key=lambda row: -scores[row])
        return [self._articles[row] for row in order[:limit] if scores[row] > 0]

    async def nearest(self, query: str, embed: Embed, limit: int) -> list[DemoArticle]:
        """At most `limit` articles, those first whose title and first paragraph mean most like the query; none where
        the embedder fails."""
        leads = [f"{article.title}. {' '.join(article.paragraphs[:1])}" for article in self._articles]
        try:
            vectors = (await embed([query, *leads])).vectors
        except EmbedFailed:
            return []
        order = np.argsort(-(vectors[1:] @ vectors[0]), kind="stable")
        return [self._articles[row] for row in order[:limit]]


def stems_of(text: str) -> list[str]:
    """Stems of the words of two letters and more, without those that every article has."""
    return [stem for stem in tokens(text, "en") if len(stem) > 1 and stem not in _EVERYWHERE]


def read_articles(folder: Path) -> tuple[DemoArticle, ...]:
    """Every `*.md` of the folder that begins with a title, in order of name.

    Raises:
        SearchFailed: when there is none.
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
    """The sentence with the most of the query's words, and what follows it in its paragraph, about 200 characters."""
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
    """One line of text: links as their words, no list marks, emphasis or code marks."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    text = re.sub(r"(?m)^\s*(?:[-*+]|\d+\.)\s+", "", text)
    return " ".join(re.sub(r"\*\*|`|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)", "", text).split())
