"""Collections behind the `Search` port: a run finds passages as it does pages.

So every stage after the search treats a passage as it treats a page (decision 0008).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.config.knobs import MOST_COLLECTIONS, SearchKnobs
from core.errors import BadInput, CollectionMissing, EmbedFailed, LibraryFailed, SearchFailed
from core.library.vector_database import PassageSearch, check_embedder
from core.model import LibraryPassage, Neighbour, Result, SearchReply
from core.model.library import checked_name
from core.model.passage_urls import passage_url
from core.ports import Search
from core.text.markdown.inline_text import without_marks
from core.text.sanitize import one_line, truncate

if TYPE_CHECKING:
    from core.adapters.cache.embedding_cache import CachedEmbed

SNIPPET = 200
"""About how many characters a snippet has."""

FIRST_WORDS = 80
"""The most characters of a title that is made of a passage's text."""

PASSAGES = 10
"""How many passages of a collection a query finds at least, so that a smaller context is a choice among them."""

_ADD_DOCUMENTS = "Add documents on the Library page, or with: openquery ingest COLLECTION FILE"

_NAMING = "--search-collections, search.collections or OPENQUERY_COLLECTIONS"
"""How a question's collections are named: on the command line, over HTTP and in the settings."""

_CACHED = 4_000
"""Passages that were found last: reading one of them needs no request to the database."""


class SearchableCollections:
    """The collections of a vector database, with a cache of the passages that were found last."""

    def __init__(self, collections: PassageSearch) -> None:
        self.collections = collections
        self._found: OrderedDict[tuple[str, str], LibraryPassage] = OrderedDict()

    async def nearest(
        self, name: str, vector: NDArray[np.float32], limit: int, embed: CachedEmbed
    ) -> tuple[Neighbour, ...]:
        """The passages most similar to `vector`. Vectors made by `embed` go into its cache.

        Raises:
            LibraryFailed: as the database does, and when another model made the vectors.
        """
        neighbours = await self.collections.nearest(name, vector, limit)
        own = [neighbour for neighbour in neighbours if neighbour.passage.embedder == embed.identity]
        embed.remember(
            [neighbour.passage.content for neighbour in own], [neighbour.vector for neighbour in own]
        )
        for neighbour in neighbours:
            check_embedder(name, neighbour.passage.embedder, embed.identity)
            self._found[name, neighbour.passage.id] = neighbour.passage
            self._found.move_to_end((name, neighbour.passage.id))
        while len(self._found) > _CACHED:
            self._found.popitem(last=False)
        return neighbours

    async def get(self, name: str, passage: str) -> LibraryPassage | None:
        """The passage with this id; None when there is none.

        Raises:
            LibraryFailed: as the database does.
        """
        if (cached := self._found.get((name, passage))) is not None:
            return cached
        return next(iter(await self.collections.get(name, [passage])), None)


class CombinedCollections:
    """One collection of a database under its name, and all other collections of another database."""

    def __init__(self, name: str, own: PassageSearch, others: PassageSearch) -> None:
        self.name, self.own, self.others = name, own, others

    @property
    def identity(self) -> str:
        """Both databases, without a key."""
        return f"{self.others.identity} and {self.own.identity}"

    async def names(self) -> tuple[str, ...]:
        """All collections."""
        return (*await self.own.names(), *await self.others.names())

    async def nearest(self, name: str, vector: NDArray[np.float32], limit: int) -> tuple[Neighbour, ...]:
        """As `PassageSearch.nearest`."""
        return await self._database(name).nearest(name, vector, limit)

    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]:
        """As `PassageSearch.get`."""
        return await self._database(name).get(name, ids)

    def _database(self, name: str) -> PassageSearch:
        return self.own if name == self.name else self.others


class LibrarySearch:
    """The `Search` port over collections: the passages most similar to the query.

    A collection that cannot be searched is reported in `unresponsive_engines`; when none can be, the search fails.
    """

    def __init__(self, collections: SearchableCollections, embed: CachedEmbed, context: int = 0) -> None:
        """`context` is how many passages the run wants in its context."""
        self._collections = collections
        self._embed = embed
        self._context = context

    @property
    def identity(self) -> str:
        """The database, without a key."""
        return f"library {self._collections.collections.identity}"

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        """The passages of the chosen collections, of all where none is chosen, best first in each.

        Where the knobs set no number of passages it is that of the context, and `PASSAGES` at least.

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
        limit = knobs.passages or max(PASSAGES, self._context)
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
        """The collections to search: those that are chosen, else all.

        Raises:
            SearchFailed: when a name cannot be one, there is no collection, or there are too many.
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
        """What to do where a collection is missing: the names that there are, and how one is chosen."""
        try:
            names = await self._collections.collections.names()
        except LibraryFailed as error:
            return error.hint
        if not names:
            return f"The library has no collection. {_ADD_DOCUMENTS}"
        listed = ", ".join(names[:MOST_COLLECTIONS]) + (" …" if len(names) > MOST_COLLECTIONS else "")
        return f"The library has: {listed}. Name one of them ({_NAMING}), or none to search all."


class WebAndLibrary:
    """The `Search` port over the web and the library in parallel; one may fail without the other."""

    def __init__(self, web: Search, library: Search) -> None:
        self._web = web
        self._library = library

    @property
    def identity(self) -> str:
        """Both, without a key."""
        return f"{self._web.identity} and {self._library.identity}"

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        """The results of both, each with its own ranks.

        Raises:
            SearchFailed: when neither can be searched.
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
            # The web's backend where it answered: passages carry the name of their collection.
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
    """A title for a passage: its document's title, or source, or the first words; and the page.

    Where the first words would be all of the text, it is the point's id.
    """
    words = one_line(passage.content)
    first_words = truncate(words, FIRST_WORDS) if len(words) > FIRST_WORDS else f"Point {passage.id}"
    title = one_line(passage.title or passage.source, 120) or first_words
    return f"{title}, page {passage.page}" if passage.page else title


def shown_text(passage: LibraryPassage) -> str:
    """The text of a passage for people: that of a Markdown file without its marks."""
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
