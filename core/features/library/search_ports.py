"""Collections behind the `Search` port: a run finds passages like pages.

Every stage after the search treats a passage like a page (decision 0008).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.config.knobs import MOST_COLLECTIONS, SearchKnobs
from core.errors import BadInput, CollectionMissing, EmbedFailed, LibraryFailed, SearchFailed
from core.features.library.vector_database import PassageSearch, check_embedder
from core.model import LibraryPassage, Neighbour, Result, SearchReply
from core.model.library import checked_name
from core.model.passage_urls import passage_url
from core.ports import Search
from core.text.markdown.inline_text import without_marks
from core.text.sanitize import one_line, truncate

if TYPE_CHECKING:
    from core.adapters.cache.embedding_cache import CachedEmbed

SNIPPET = 200
"""The most characters of a snippet."""

FIRST_WORDS = 80
"""The most characters of a title made of a passage's text."""

PASSAGES = 50
"""The least number of passages per query of all collections together. The ranking by words and vectors chooses among them.

Of the nearest passages alone, the best by words are often not among the first ten: over SciFact's abstracts nDCG@10 is
.670 for 10, .680 for 20, .693 for 50 and .697 for 100 passages.
"""

OF_EACH = 10
"""The least number of passages per query of each collection."""

_ADD_DOCUMENTS = "Add documents on the Library page, or with: openquery ingest COLLECTION FILE"

_NAMING = "--search-collections, search.collections or OPENQUERY_COLLECTIONS"
"""The ways to name a question's collections: command line, HTTP and settings."""

_CACHED = 4_000
"""The number of cached passages. Reading them needs no request to the database."""


class SearchableCollections:
    """The collections of a vector database, with a cache of the latest found passages."""

    def __init__(self, collections: PassageSearch) -> None:
        self.collections = collections
        self._found: LRUCache[tuple[str, str], LibraryPassage] = LRUCache(_CACHED)

    async def nearest(
        self, name: str, vector: NDArray[np.float32], limit: int, embed: CachedEmbed
    ) -> tuple[Neighbour, ...]:
        """Return the passages most similar to `vector`. Vectors of `embed` go into its cache.

        Raises:
            LibraryFailed: when the database fails, or another model made the vectors.
        """
        neighbours = await self.collections.nearest(name, vector, limit)
        own = [neighbour for neighbour in neighbours if neighbour.passage.embedder == embed.identity]
        embed.remember(
            [neighbour.passage.content for neighbour in own], [neighbour.vector for neighbour in own]
        )
        for neighbour in neighbours:
            check_embedder(name, neighbour.passage.embedder, embed.identity)
            self._found[name, neighbour.passage.id] = neighbour.passage
        return neighbours

    async def get(self, name: str, passage: str) -> LibraryPassage | None:
        """Return the passage with this id, or None.

        Raises:
            LibraryFailed: when the database fails.
        """
        if (cached := self._found.get((name, passage))) is not None:
            return cached
        return next(iter(await self.collections.get(name, [passage])), None)


class CombinedCollections:
    """One collection of a database by its name, and all collections of another database."""

    def __init__(self, name: str, own: PassageSearch, others: PassageSearch) -> None:
        self.name, self.own, self.others = name, own, others

    @property
    def identity(self) -> str:
        """The names of both databases, without a key."""
        return f"{self.others.identity} and {self.own.identity}"

    async def names(self) -> tuple[str, ...]:
        """Return the names of all collections."""
        return (*await self.own.names(), *await self.others.names())

    async def nearest(self, name: str, vector: NDArray[np.float32], limit: int) -> tuple[Neighbour, ...]:
        """Return the passages most similar to `vector`, best first."""
        return await self._database(name).nearest(name, vector, limit)

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        """Return the passages with these ids, in this order, without unknown ids."""
        return await self._database(name).get(name, ids)

    def _database(self, name: str) -> PassageSearch:
        return self.own if name == self.name else self.others


class LibrarySearch:
    """The `Search` port over collections, by similarity to the query.

    A collection that cannot be searched is reported in `unresponsive_engines`. If all fail, the search fails.
    """

    def __init__(self, collections: SearchableCollections, embed: CachedEmbed, context: int = 0) -> None:
        """`context` is the number of passages for the run's context."""
        self._collections = collections
        self._embed = embed
        self._context = context

    @property
    def identity(self) -> str:
        """The name of the database, without a key."""
        return f"library {self._collections.collections.identity}"

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        """Return the passages of the chosen collections, or of all, best first in each.

        Without a number of passages in the knobs, it is the size of the context, at least `PASSAGES` together and
        `OF_EACH` of each collection.

        Raises:
            SearchFailed: when the query cannot be embedded, or no collection can be searched.
        """
        names = await self._names(knobs.collections)
        try:
            embedded = await self._embed([query])
        except EmbedFailed as error:
            raise SearchFailed(
                f"The collections could not be searched: {error.message}", hint=error.hint
            ) from error
        (vector,) = embedded.vectors
        limit = knobs.passages or max(PASSAGES // len(names), OF_EACH, self._context)
        outcomes = await asyncio.gather(
            *(self._collections.nearest(name, vector, limit, self._embed) for name in names),
            return_exceptions=True,
        )
        results: list[Result] = []
        failures: list[tuple[str, LibraryFailed]] = []
        for name, outcome in zip(names, outcomes, strict=True):
            if isinstance(outcome, LibraryFailed):
                failures.append((name, outcome))
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                results.extend(_results(name, outcome))
        if len(failures) == len(names):
            first = failures[0][1]
            hint = await self._choice() if isinstance(first, CollectionMissing) else first.hint
            raise SearchFailed(first.message, hint=hint) from first
        unresponsive = tuple((name, error.message) for name, error in failures)
        return SearchReply(
            backend="library", results=tuple(results), unresponsive_engines=unresponsive, usage=embedded.usage
        )

    async def _names(self, chosen: Sequence[str]) -> Sequence[str]:
        """Return the collections to search: the chosen ones, or else all.

        Raises:
            SearchFailed: for an invalid name, without a collection, or with too many collections.
        """
        try:
            if chosen:
                return [checked_name(name) for name in chosen]
            names = await self._collections.collections.names()
        except (BadInput, LibraryFailed) as error:
            raise SearchFailed(error.message, hint=error.hint) from error
        if not names:
            raise SearchFailed("The library has no collection.", hint=_ADD_DOCUMENTS)
        if len(names) > MOST_COLLECTIONS:
            raise SearchFailed(
                f"The library has {len(names):,} collections; a question searches {MOST_COLLECTIONS} at most.",
                hint=f"Name those to search ({_NAMING}).",
            )
        return names

    async def _choice(self) -> str:
        """Return a hint for a missing collection: the existing names, and how to choose."""
        try:
            names = await self._collections.collections.names()
        except LibraryFailed as error:
            return error.hint
        if not names:
            return f"The library has no collection. {_ADD_DOCUMENTS}"
        listed = ", ".join(names[:MOST_COLLECTIONS]) + (" …" if len(names) > MOST_COLLECTIONS else "")
        return f"The library has: {listed}. Name one of them ({_NAMING}), or none to search all."


class WebAndLibrary:
    """The `Search` port over the web and the library in parallel.

    One may fail without the other.
    """

    def __init__(self, web: Search, library: Search) -> None:
        self._web = web
        self._library = library

    @property
    def identity(self) -> str:
        """The names of both, without a key."""
        return f"{self._web.identity} and {self._library.identity}"

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        """Return the results of both, each with its own ranks.

        Raises:
            SearchFailed: when both fail.
        """
        web, library = await asyncio.gather(
            self._web(query, knobs), self._library(query, knobs), return_exceptions=True
        )
        replies: list[SearchReply] = []
        unresponsive: list[tuple[str, str]] = []
        faults: list[SearchFailed] = []
        for name, outcome in (("web", web), ("library", library)):
            if isinstance(outcome, SearchFailed):
                faults.append(outcome)
                unresponsive.append((name, str(outcome)))
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                replies.append(outcome)
        if not replies:
            raise SearchFailed(
                " ".join(fault.message for fault in faults), hint=" ".join(fault.hint for fault in faults)
            ) from faults[0]
        return SearchReply(
            # The web's backend if it answered, because passages carry the name of their collection.
            backend=replies[0].backend,
            results=tuple(result for reply in replies for result in reply.results),
            unresponsive_engines=(
                *unresponsive,
                *(engine for reply in replies for engine in reply.unresponsive_engines),
            ),
            usage=next((reply.usage for reply in replies if reply.usage), None),
            unknown_engines=tuple(name for reply in replies for name in reply.unknown_engines),
            answers=tuple(answer for reply in replies for answer in reply.answers),
            corrections=tuple(query for reply in replies for query in reply.corrections),
            suggestions=tuple(query for reply in replies for query in reply.suggestions),
        )


def title_of(passage: LibraryPassage) -> str:
    """Return a passage's title: its document's title, source, or first words, with the page.

    If the first words would be the whole text, the point's id is used.
    """
    words = one_line(passage.content)
    first_words = truncate(words, FIRST_WORDS) if len(words) > FIRST_WORDS else f"Point {passage.id}"
    title = one_line(passage.title or passage.source, 120) or first_words
    return f"{title}, page {passage.page}" if passage.page else title


def shown_text(passage: LibraryPassage) -> str:
    """Return the text of a passage for people, without the marks of a Markdown file."""
    is_markdown = passage.source.lower().endswith((".md", ".markdown"))
    return without_marks(passage.content) if is_markdown else passage.content


def _results(name: str, neighbours: Sequence[Neighbour]) -> list[Result]:
    return [
        Result(
            url=passage_url(name, neighbour.passage.id),
            title=title_of(neighbour.passage),
            snippet=one_line(shown_text(neighbour.passage), SNIPPET),
            rank=rank,
            engines=(name,),
            published=neighbour.passage.created_at or None,
            collection=name,
            similarity=neighbour.score,
        )
        for rank, neighbour in enumerate(neighbours, 1)
    ]
