"""When the time of a run is over, each stage ends with what it has, and says so."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from core.config.knobs import AnswerKnobs, EmbedKnobs, ReadKnobs
from core.errors import SearchFailed
from core.model import AnswerKind, Article, Document, Extractor, Hit, Passage, SkipReason
from core.run.events import BatchFailed, Event, Note, PageSkipped, Prompted
from core.stages.answer import answer
from core.stages.embed import embed
from core.stages.read import read
from core.stages.streams import collected
from core.stages.time_budget import TimeBudget
from tests.stages.fakes import ScriptedChat, WordEmbed, source

QUESTION = "How does chunk overlap affect retrieval?"
SOURCES = (source(1, "Chunk overlap affects retrieval: it lifts recall."), source(2, "It costs storage."))
SOON = 0.5
"""Seconds, of which everything here that ends at all needs next to nothing."""


def notes(told: Sequence[Event]) -> list[str]:
    return [event.message for event in told if isinstance(event, Note)]


def hit(name: str) -> Hit:
    return Hit(key=name, url=f"https://{name}.example/", title=name, snippet="", found=(), score=1.0)


async def web(url: str, knobs: ReadKnobs) -> Document:
    if "never" in url:
        await asyncio.Event().wait()
    return Document(url=url, status=200, media_type="text/html", charset=None, body=b"")


async def extract(document: Document, extractor: Extractor) -> Article:
    return Article(text="Hello", extractor="test")


async def hits(*names: str) -> AsyncGenerator[Hit]:
    """A search that names these pages, and then never ends."""
    for name in names:
        yield hit(name)
    await asyncio.Event().wait()


async def test_pages_in_time_are_read_and_others_skipped() -> None:
    told: list[Event] = []
    pages = read(hits("one", "never"), ReadKnobs(), web, extract, told.append, TimeBudget(SOON))
    assert [page.key for page in await collected(pages)] == ["one"]
    assert [(event.skip.key, event.skip.reason) for event in told if isinstance(event, PageSkipped)] == [
        ("never", SkipReason.DEADLINE)
    ]
    assert any("0.5 s" in note for note in notes(told))


async def test_search_that_names_no_page_in_time_failed() -> None:
    with pytest.raises(SearchFailed, match=r"within 0\.5 s") as caught:
        await collected(read(hits(), ReadKnobs(), web, extract, lambda _: None, TimeBudget(SOON)))
    assert caught.value.hint


class SlowForLong(WordEmbed):
    """Never gives a vector for a text that is called long."""

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("long" in text for text in texts):
            await asyncio.Event().wait()
        return await super().vectors(texts)


async def test_passages_without_a_vector_in_time_are_lost_alone() -> None:
    told: list[Event] = []

    async def passages() -> AsyncGenerator[tuple[Passage, ...]]:
        for one in (source(1, "short"), source(2, "a long one")):
            yield (one.passage,)

    index = await embed(
        QUESTION,
        passages(),
        EmbedKnobs(batch=1),
        SlowForLong(),
        told.append,
        page_order=lambda key: 0,
        budget=TimeBudget(SOON),
    )
    assert [passage.text for passage in index.passages] == ["short"]
    assert [passage.text for passage in index.not_embedded] == ["a long one"]
    assert [event.message for event in told if isinstance(event, BatchFailed)]


async def test_what_was_written_in_time_is_an_incomplete_answer() -> None:
    told: list[Event] = []
    chat = ScriptedChat("It lifts recall [1].", asyncio.Event())
    found = await answer(
        QUESTION, SOURCES, AnswerKnobs(), chat, WordEmbed(), told.append, budget=TimeBudget(SOON)
    )
    assert (found.kind, found.text, found.complete) == (AnswerKind.WRITTEN, "It lifts recall [1].", False)
    assert any("0.5 s" in note for note in notes(told))
    assert chat.closed


@pytest.mark.parametrize(("seconds", "asked"), [(SOON, True), (0.0, False)])
async def test_model_that_writes_nothing_in_time_leaves_quotations(seconds: float, asked: bool) -> None:
    told: list[Event] = []
    chat = ScriptedChat(asyncio.Event())
    found = await answer(
        QUESTION, SOURCES, AnswerKnobs(), chat, WordEmbed(), told.append, budget=TimeBudget(seconds)
    )
    assert found.kind is AnswerKind.EXTRACTIVE
    assert "it lifts recall" in found.text
    assert notes(told)
    assert any(isinstance(event, Prompted) for event in told) == bool(chat.asked) == asked


async def test_sentences_not_compared_in_time_are_chosen_by_words() -> None:
    told: list[Event] = []
    found = await answer(
        "How long does chunk overlap take?",
        (source(1, "A long chunk overlap takes long."), *SOURCES),
        AnswerKnobs(),
        None,
        SlowForLong(),
        told.append,
        budget=TimeBudget(SOON),
    )
    assert "takes long" in found.text
    assert any("matching words only" in note for note in notes(told))
