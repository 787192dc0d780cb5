"""Choose the embedder of a run: the chosen one, or a multilingual embedder.

An index has the vectors of one model, so that vectors of different models are never compared. Decision 0074 has the
figures for the limits.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.config.knobs import EmbedKnobs
from core.model import Index, Page, Passage
from core.model.arrays import Rows
from core.ports import Embed, Ports
from core.run.events import Emit
from core.stages.embed import embed
from core.stages.embedding.cascade import EmbeddingPriority
from core.stages.streams import Replayed
from core.stages.time_budget import TimeBudget
from core.text.bm25_index import tokens
from core.text.language import commonest_function_words, dominant_language, in_latin_script

LEAST_FOREIGN = 0.1
"""The share of passages in other languages from which the multilingual embedder is used for all passages."""
_LEAST_FOREIGN_TO_GO_ON = 0.05
"""The share in the end from which that embedder, once it has begun, keeps its work.

A share of about a tenth crosses `LEAST_FOREIGN` while pages arrive, and the other embedder would begin again.
"""
_LEAST_FOREIGN_PAGES = 2
"""The minimum number of foreign pages for that decision while pages are missing."""
_SAME_LANGUAGE = 0.7
"""The share of a question's words in foreign passages above which its language was misdetected.

An example is "Los Angeles population".
"""
_SAME_LANGUAGE_ON_A_PAGE = 0.3
"""The same share for the first page, which has fewer of the words."""


async def embed_in_one_space(
    question: str,
    passages: AsyncGenerator[tuple[Passage, ...]],
    knobs: EmbedKnobs,
    ports: Ports,
    emit: Emit,
    *,
    pages: Callable[[], Mapping[str, Page]],
    page_order: Callable[[str], int],
    first: EmbeddingPriority | None = None,
    budget: TimeBudget,
    on_arrival: Callable[[Index], Awaitable[None]] | None = None,
    on_stop: Callable[[Index], None] | None = None,
) -> Index:
    """Embed passages with the embedder that their languages need.

    Begins with the embedder that the question's language and the first page suggest. As soon as `pages` need the
    multilingual embedder, it reads the passages, and the other's work ends. If they need the chosen embedder in the
    end, it reads the passages again. Passages wait as `first` says. Passages in other languages share no words with the
    question and precede the others. The other arguments are those of `core.stages.embed.embed`.
    """
    languages = _Languages(question, ports.multilingual, pages) if ports.multilingual else None
    abandoned = False

    def stopped(index: Index) -> None:
        if on_stop and not abandoned:
            on_stop(index)

    def embed_by(arrived: Replayed[tuple[Passage, ...]], port: Embed) -> Coroutine[Any, Any, Index]:
        return embed(
            question,
            arrived.items(),
            knobs,
            port,
            emit,
            page_order=page_order,
            first=languages.foreign_first(first)
            if first and languages and port is languages.multilingual
            else first,
            budget=budget,
            on_arrival=on_arrival,
            on_stop=stopped,
        )

    async with aclosing(Replayed(passages)) as arrived:
        if not languages:
            return await embed_by(arrived, ports.embed)
        if not await languages.suggest_multilingual(arrived, ports.embed):
            embedding = asyncio.create_task(embed_by(arrived, ports.embed))
            deciding = asyncio.create_task(languages.ask_for_multilingual(arrived))
            try:
                await asyncio.wait({embedding, deciding}, return_when=asyncio.FIRST_COMPLETED)
                if embedding.done() or deciding.done():
                    failed = embedding.done() and embedding.exception()
                    if failed or not await deciding:
                        return await embedding
                abandoned = True
            finally:
                for task in (embedding, deciding):
                    task.cancel()
                await asyncio.gather(embedding, deciding, return_exceptions=True)
            abandoned = False
        index = await embed_by(arrived, languages.multilingual)
        everything = index.passages + index.not_embedded
        if not everything or await languages.ask(everything, _LEAST_FOREIGN_TO_GO_ON):
            return index
        return await embed_by(arrived, ports.embed)


@dataclass(frozen=True, slots=True)
class _Languages:
    """The decisions by the languages of a question and of the arrived pages."""

    question: str
    multilingual: Embed
    pages: Callable[[], Mapping[str, Page]]

    def foreign_first(self, first: EmbeddingPriority) -> EmbeddingPriority:
        """Return `first` with foreign passages before the others."""
        language, foreign_count = dominant_language([self.question]), 0

        def rows(passages: tuple[Passage, ...], complete: bool) -> Rows:
            nonlocal foreign_count
            foreign = set(_foreign(language, passages, self.pages(), self.multilingual))
            is_foreign = np.array([passage in foreign for passage in passages], dtype=bool)
            foreign_count = int(is_foreign.sum())
            others = first.rows(passages, complete)
            return np.concatenate([np.flatnonzero(is_foreign), others[~is_foreign[others]]])

        return EmbeddingPriority(rows, lambda: first.early_budget() + foreign_count)

    async def suggest_multilingual(self, arrived: Replayed[tuple[Passage, ...]], usual: Embed) -> bool:
        """Check whether the first page suggests the multilingual embedder.

        The usual embedder must not know the question's language.
        """
        if dominant_language([self.question]) in usual.languages:
            return False
        async with aclosing(arrived.items()) as items:
            first = await anext(items, ())
        return needs_multilingual(
            self.question, first, self.pages(), self.multilingual, _SAME_LANGUAGE_ON_A_PAGE
        )

    async def ask_for_multilingual(self, arrived: Replayed[tuple[Passage, ...]]) -> bool:
        """Check whether the pages need the multilingual embedder.

        The result is given as soon as it is likely, and at the latest after the last page.
        """
        language, passages = dominant_language([self.question]), list[Passage]()
        async with aclosing(arrived.items()) as items:
            async for some in items:
                passages.extend(some)
                foreign = _foreign(language, passages, self.pages(), self.multilingual)
                several = len({passage.place.page for passage in foreign}) >= _LEAST_FOREIGN_PAGES
                if several and await self.ask(passages):
                    return True
        return await self.ask(passages)

    async def ask(self, passages: Sequence[Passage], least_foreign: float = LEAST_FOREIGN) -> bool:
        """Check whether these passages need the multilingual embedder."""
        return await asyncio.to_thread(
            needs_multilingual,
            self.question,
            tuple(passages),
            self.pages(),
            self.multilingual,
            least_foreign=least_foreign,
        )


def needs_multilingual(
    question: str,
    passages: Sequence[Passage],
    pages: Mapping[str, Page],
    multilingual: Embed | None,
    most_words: float = _SAME_LANGUAGE,
    *,
    least_foreign: float = LEAST_FOREIGN,
) -> bool:
    """Check whether the embedder `multilingual` should read these passages.

    It must know the question's language and another language in which at least `least_foreign` of the passages are.
    """
    language = dominant_language([question]) if multilingual else ""
    if not multilingual or language not in multilingual.languages:
        return False
    foreign = _foreign(language, passages, pages, multilingual)
    if not foreign or len(foreign) < least_foreign * len(passages):
        return False
    codes = {_language_of(passage, pages) for passage in foreign}
    if not (in_latin_script(language) and any(map(in_latin_script, codes))):
        return True
    return _shared(question, language, foreign, pages) <= most_words


def _shared(question: str, language: str, passages: Sequence[Passage], pages: Mapping[str, Page]) -> float:
    """Return the share of a question's words in passages, as written and without function words.

    Stems would make words of one language equal to others of another one: the German Suche would be the English such.
    """
    words = set(tokens(question, ""))
    words = words - commonest_function_words(language) or words
    titles = {pages[passage.place.page].title for passage in passages}
    texts = (*titles, *(passage.text for passage in passages))
    found = {word for text in texts for word in tokens(text, "")}
    return len(words & found) / max(1, len(words))


def _foreign(
    language: str, passages: Sequence[Passage], pages: Mapping[str, Page], multilingual: Embed
) -> list[Passage]:
    """Find passages in other languages that `multilingual` knows."""
    known = multilingual.languages - {language}
    return [passage for passage in passages if _language_of(passage, pages) in known]


def _language_of(passage: Passage, pages: Mapping[str, Page]) -> str:
    page = pages.get(passage.place.page)
    return page.article.language.lower()[:2] if page else ""
