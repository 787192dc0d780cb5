"""Which embedder reads a run: the chosen one, or one that reads questions and pages in different languages.

An index is in the space of one model, so that no two vectors of different models are ever compared. Decision 0074 has
the figures by which the limits were set.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing

from core.config.knobs import EmbedKnobs
from core.model import Index, Page, Passage
from core.ports import Embed, Ports
from core.run.events import Emit
from core.stages.embed import embed
from core.stages.embedding.cascade import First
from core.stages.ranking.bm25 import bm25_index
from core.stages.streams import stream
from core.stages.time_budget import TimeBudget
from core.text.bm25_index import tokens
from core.text.language import dominant_language, in_latin_script

LEAST_FOREIGN = 0.1
"""The share of passages in another language than the question from which the multilingual embedder reads all of them."""
_SAME_LANGUAGE = 0.7
"""Of a question of which more words stand in the passages, the language was mistaken: "Los Angeles population"."""
_SAME_LANGUAGE_ON_A_PAGE = 0.3
"""The same in the first page, which holds fewer of them."""


async def embed_in_one_space(
    question: str,
    passages: AsyncGenerator[tuple[Passage, ...]],
    knobs: EmbedKnobs,
    ports: Ports,
    emit: Emit,
    *,
    pages: Callable[[], Mapping[str, Page]],
    page_order: Callable[[str], int],
    first: First | None = None,
    budget: TimeBudget,
    on_arrival: Callable[[Index], Awaitable[None]] | None = None,
    on_stop: Callable[[Index], None] | None = None,
) -> Index:
    """As `core.stages.embed.embed`, by the embedder that the languages of the question and of `pages` ask for.

    It begins with the one that the question's language and the first page suggest, and only
    the chosen one leaves passages to wait, as `first` says. When the last page is in and it is the
    other one, that reads all passages anew.
    """

    def embed_by(
        passages: AsyncGenerator[tuple[Passage, ...]],
        port: Embed,
        on_arrival: Callable[[Index], Awaitable[None]] | None = None,
    ) -> Awaitable[Index]:
        return embed(
            question,
            passages,
            knobs,
            port,
            emit,
            page_order=page_order,
            first=first if port is ports.embed else None,
            budget=budget,
            on_arrival=on_arrival,
            on_stop=on_stop,
        )

    async with aclosing(passages):
        port = ports.embed
        if ports.across and dominant_language([question]) not in port.languages:
            first_page = await anext(passages, ())
            port = (
                ports.across
                if reads_across(question, first_page, pages(), ports.across, _SAME_LANGUAGE_ON_A_PAGE)
                else port
            )
            passages = _chained(first_page, passages)
        index = await embed_by(passages, port, on_arrival=on_arrival)
    everything = index.passages + index.not_embedded
    is_across = await asyncio.to_thread(reads_across, question, everything, pages(), ports.across)
    right = ports.across if is_across and ports.across else ports.embed
    if right is port or not everything:
        return index
    return await embed_by(stream([everything]), right)


def reads_across(
    question: str,
    passages: Sequence[Passage],
    pages: Mapping[str, Page],
    across: Embed | None,
    most_words: float = _SAME_LANGUAGE,
) -> bool:
    """Whether the multilingual embedder `across` should read these passages: it knows the question's language and another one, in
    which at least `LEAST_FOREIGN` of them are."""
    language = dominant_language([question]) if across else ""
    if not across or language not in across.languages:
        return False
    languages = {key: page.article.language.lower()[:2] for key, page in pages.items()}
    counts = Counter(languages.get(passage.place.page, "") for passage in passages)
    foreign = {code: counts[code] for code in across.languages & counts.keys() if code != language}
    if not foreign or sum(foreign.values()) < LEAST_FOREIGN * len(passages):
        return False
    if not (in_latin_script(language) and any(map(in_latin_script, foreign))):
        return True
    words = bm25_index(tuple(passages), pages)
    question_words = set(tokens(question, words.language))
    return len(question_words & words.vocabulary.keys()) <= most_words * len(question_words)


async def _chained(
    first: tuple[Passage, ...], rest: AsyncGenerator[tuple[Passage, ...]]
) -> AsyncGenerator[tuple[Passage, ...]]:
    async with aclosing(rest):
        yield first
        async for some in rest:
            yield some
