"""A collection seen as a small web: searched for excerpts like a search engine, read like a site.

So everything after the search treats an excerpt as it treats a page, and nothing there knows the difference.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.adapters.cache.embedding_cache import CachedEmbed
from core.config.knobs import ReadKnobs, SearchKnobs
from core.errors import BadInput, EmbedFailed, LibraryFailed, SearchFailed
from core.injection import injection_signs
from core.library.compatibility import refuse_others
from core.model import (
    Article,
    Document,
    Extractor,
    LibraryPassage,
    Neighbour,
    Result,
    SearchReply,
    SkipReason,
    Unreadable,
)
from core.model.passage_urls import excerpt_at, excerpt_url
from core.model.payload import checked_name
from core.ports import CachedPages, Extract, Search, Web
from core.text.safe_markdown import web_address
from core.text.sanitize import one_line

EXCERPT = "application/vnd.openquery.excerpt+json"
"""The media type of an excerpt's body, which is its fields as JSON."""

SNIPPET = 200
"""About how many characters a snippet has."""

_KEPT = 4_000
"""Excerpts that were found lately and need not be asked for again when they are read."""


class Findable(Protocol):
    """As much of `Collections` as a run needs."""

    @property
    def identity(self) -> str: ...
    async def nearest(self, name: str, vector: NDArray[np.float32], limit: int) -> tuple[Neighbour, ...]: ...
    async def get(self, name: str, ids: Sequence[str]) -> tuple[LibraryPassage, ...]: ...


class SearchableCollection:
    """Excerpts of a database, those found lately at hand."""

    def __init__(self, collections: Findable) -> None:
        self.collections = collections
        self._found: OrderedDict[tuple[str, str], LibraryPassage] = OrderedDict()

    async def nearest(
        self, name: str, vector: NDArray[np.float32], limit: int, embed: CachedEmbed
    ) -> tuple[Neighbour, ...]:
        """The excerpts most similar to `vector`. Their vectors need not be computed again by this embedder.

        Raises:
            LibraryFailed: as the database does, and when another model made the vectors.
        """
        found = await self.collections.nearest(name, vector, limit)
        own = [one for one in found if one.excerpt.embedder == embed.identity]
        embed.learn([one.excerpt.content for one in own], [one.vector for one in own])
        for one in found:
            refuse_others(name, one.excerpt.embedder, embed.identity)
            self._found[name, one.excerpt.id] = one.excerpt
            self._found.move_to_end((name, one.excerpt.id))
        while len(self._found) > _KEPT:
            self._found.popitem(last=False)
        return found

    async def take(self, name: str, excerpt: str) -> LibraryPassage | None:
        """The excerpt, None when it is gone.

        Raises:
            LibraryFailed: as the database does.
        """
        if (known := self._found.get((name, excerpt))) is not None:
            return known
        return next(iter(await self.collections.get(name, [excerpt])), None)


class LibrarySearch:
    """The `Search` port over collections: the excerpts whose vectors are nearest to the query's.

    A collection that cannot be searched is named among the silent; when none can be, the search has failed.
    """

    def __init__(self, shelf: SearchableCollection, embed: CachedEmbed) -> None:
        self._shelf = shelf
        self._embed = embed

    @property
    def identity(self) -> str:
        return f"library {self._shelf.collections.identity}"

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        """Raises SearchFailed: when the query cannot be embedded, or no collection can be searched."""
        try:
            names = [checked_name(name) for name in knobs.collections]
        except BadInput as error:
            raise SearchFailed(error.message, hint=error.hint) from error
        if not names:
            raise SearchFailed(
                "No collection is chosen.", hint="Name one under Search, or choose the web alone."
            )
        try:
            (vector,) = await self._embed([query])
        except EmbedFailed as error:
            raise SearchFailed(
                f"The collections could not be searched: {error.message}", hint=error.hint
            ) from error
        found = await asyncio.gather(
            *(self._shelf.nearest(name, vector, knobs.excerpts, self._embed) for name in names),
            return_exceptions=True,
        )
        results: list[Result] = []
        broken: list[tuple[str, LibraryFailed]] = []
        for name, outcome in zip(names, found, strict=True):
            if isinstance(outcome, LibraryFailed):
                broken.append((name, outcome))
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                results.extend(_results(name, outcome))
        if len(broken) == len(names):
            first = broken[0][1]
            raise SearchFailed(first.message, hint=first.hint) from first
        silent = tuple((name, error.message) for name, error in broken)
        return SearchReply(backend="library", results=tuple(results), silent=silent)


class WebAndLibrary:
    """The `Search` port over both at once. What one of them cannot give does not hold up the other."""

    def __init__(self, web: Search, library: Search) -> None:
        self._web = web
        self._library = library

    @property
    def identity(self) -> str:
        return f"{self._web.identity} and {self._library.identity}"

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        """Raises SearchFailed: when neither can be searched."""
        web, library = await asyncio.gather(
            self._web(query, knobs), self._library(query, knobs), return_exceptions=True
        )
        replies: list[SearchReply] = []
        silent: list[tuple[str, str]] = []
        faults: list[SearchFailed] = []
        for name, outcome in (("web", web), ("library", library)):
            if isinstance(outcome, SearchFailed):
                faults.append(outcome)
                silent.append((name, f"{outcome.message} {outcome.hint}".strip()))
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                replies.append(outcome)
        if not replies:
            raise SearchFailed(
                " ".join(fault.message for fault in faults), hint=" ".join(fault.hint for fault in faults)
            ) from faults[0]
        return SearchReply(
            # That of the web where it answered: excerpts tell by themselves where they are from.
            backend=replies[0].backend,
            results=tuple(result for reply in replies for result in reply.results),
            silent=(*silent, *(one for reply in replies for one in reply.silent)),
            passed=tuple(one for reply in replies for one in reply.passed),
        )


class LibraryWeb:
    """The `Web` port over excerpts' addresses; all others go to `web`."""

    def __init__(self, shelf: SearchableCollection, web: Web) -> None:
        self._shelf = shelf
        self._web = web

    async def __call__(self, url: str, knobs: ReadKnobs) -> Document:
        """Raises Unreadable: when the excerpt is gone or its database does not answer, or as `web` does."""
        return await self._excerpt(url) or await self._web(url, knobs)

    async def at_hand(self, url: str) -> Document | None:
        """What can be had of the address without asking the web; None where that is nothing."""
        if (document := await self._excerpt(url)) is not None:
            return document
        return await self._web.at_hand(url) if isinstance(self._web, CachedPages) else None

    async def _excerpt(self, url: str) -> Document | None:
        if (named := excerpt_at(url)) is None:
            return None
        try:
            excerpt = await self._shelf.take(*named)
        except LibraryFailed as error:
            raise Unreadable(SkipReason.NETWORK, error.message) from error
        if excerpt is None:
            raise Unreadable(SkipReason.STATUS, "it is no longer in the collection")
        fields = {name: getattr(excerpt, name) for name in excerpt.__dataclass_fields__}
        return Document(
            url=_read_at(excerpt) or url,
            status=200,
            media_type=EXCERPT,
            charset="utf-8",
            body=json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace"),
        )


class LibraryExtract:
    """The `Extract` port for excerpts, which were extracted when they were added; all else goes to `extract`."""

    def __init__(self, extract: Extract) -> None:
        self._extract = extract

    async def __call__(self, document: Document, extractor: Extractor) -> Article:
        """Raises Unreadable: as `extract` does."""
        if document.media_type != EXCERPT:
            return await self._extract(document, extractor)
        excerpt = LibraryPassage(**json.loads(document.body))
        if not excerpt.content.strip():
            raise Unreadable(SkipReason.EMPTY, "there is no text in it")
        return Article(
            text=excerpt.content,
            extractor="collection",
            title=title_of(excerpt),
            date=excerpt.created_at[:10],
            site=excerpt.source,
            page_starts=(0,) if excerpt.page else (),
            first_page=excerpt.page or 1,
            suspicions=injection_signs(excerpt.content),
        )


def title_of(excerpt: LibraryPassage) -> str:
    """What stands above it: the document's title, or its source, or the first words; and the page."""
    title = one_line(excerpt.title or excerpt.source or excerpt.content, 120)
    return f"{title}, page {excerpt.page}" if excerpt.page else title


def _read_at(excerpt: LibraryPassage) -> str:
    """Where on the web it stands; empty when it comes from a file."""
    if not web_address(excerpt.url):
        return ""
    return f"{excerpt.url.partition('#')[0]}#page={excerpt.page}" if excerpt.page else excerpt.url


def _results(name: str, found: Sequence[Neighbour]) -> list[Result]:
    return [
        Result(
            url=excerpt_url(name, one.excerpt.id),
            title=title_of(one.excerpt),
            snippet=one_line(one.excerpt.content, SNIPPET),
            rank=rank,
            engines=(name,),
            published=one.excerpt.created_at or None,
            collection=name,
        )
        for rank, one in enumerate(found, 1)
    ]
