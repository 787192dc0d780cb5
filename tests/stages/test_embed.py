import asyncio
import random
from collections.abc import AsyncGenerator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.config.knobs import EmbedKnobs
from core.errors import EmbedFailed
from core.model import Index, Passage, Phase, Place
from core.run.events import BatchFailed, Embedded, EmbedStarted, Event, Note, PhaseEnded, PhaseStarted
from core.stages.embed import embed
from core.stages.embedding import batching
from core.stages.embedding.cascade import EmbeddingPriority
from tests.services.openai_server import vector
from tests.stages.fakes import FakeEmbed

QUESTION = "What is asked?"
Vectors = NDArray[np.float32]


class Embedder(FakeEmbed):
    """Good vectors at once, unless a subclass says otherwise."""

    identity = "test"
    batch = 1000

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        return await self.answer(texts)

    async def answer(self, texts: Sequence[str]) -> Vectors:
        return np.stack([vector(text, 16) for text in texts])


def passage(page: str, start: int, text: str) -> Passage:
    return Passage(text=text, place=Place(page=page, start=start, end=start + len(text)))


async def stream(*pages: Sequence[Passage]) -> AsyncGenerator[tuple[Passage, ...]]:
    for passages in pages:
        yield tuple(passages)


async def embedded(
    embedder: Embedder, *pages: Sequence[Passage], knobs: EmbedKnobs | None = None
) -> tuple[Index, list[Event]]:
    told: list[Event] = []
    index = await embed(
        QUESTION, stream(*pages), knobs or EmbedKnobs(), embedder, told.append, page_order="abcdef".index
    )
    return index, told


PAGES = (
    (passage("a", 0, "one fish"), passage("a", 9, "two fish")),
    (passage("b", 0, "red fish"), passage("b", 9, "one  fish")),
    (passage("c", 0, "blue fish"), passage("c", 10, "two fish"), passage("c", 30, "old fish")),
)


async def test_index_holds_one_read_only_unit_row_a_passage() -> None:
    index, told = await embedded(Embedder(), *PAGES)
    assert index.vectors is not None and index.question is not None
    assert [entry.text for entry in index.passages] == [
        "one fish", "two fish", "red fish", "blue fish", "old fish",
    ]  # fmt: skip
    assert index.passages[0].also == (Place(page="b", start=9, end=18),)
    assert index.vectors.dtype == np.float32
    assert index.vectors.flags.c_contiguous and not index.vectors.flags.writeable
    np.testing.assert_array_equal(index.vectors, [vector(entry.text, 16) for entry in index.passages])
    np.testing.assert_array_equal(index.question, vector(QUESTION, 16))
    assert (index.embedder, index.not_embedded) == ("test", ())
    assert told[0] == PhaseStarted(Phase.EMBED)
    assert told[-1] == PhaseEnded(Phase.EMBED)


@given(st.randoms(use_true_random=False), st.integers(1, 4), st.integers(1, 3))
def test_order_of_arrival_does_not_show_in_the_index(
    chance: random.Random, batch: int, in_flight: int
) -> None:
    arrivals = [(entry,) for page in PAGES for entry in page]
    chance.shuffle(arrivals)
    knobs = EmbedKnobs(batch=batch, in_flight=in_flight)
    one, _ = asyncio.run(embedded(Embedder(), *PAGES))
    other, _ = asyncio.run(embedded(Embedder(), *arrivals, knobs=knobs))
    assert one.passages == other.passages
    assert one.vectors is not None and other.vectors is not None
    np.testing.assert_array_equal(one.vectors, other.vectors)


async def test_question_and_first_pages_are_embedded_before_others_arrive() -> None:
    embedder = Embedder()
    told: list[Event] = []
    seen = asyncio.Event()

    def emit(event: Event) -> None:
        told.append(event)
        if isinstance(event, Embedded):
            seen.set()

    async def pages() -> AsyncGenerator[tuple[Passage, ...]]:
        yield PAGES[0]
        await seen.wait()
        assert [QUESTION] in embedder.calls
        assert ["one fish", "two fish"] in embedder.calls
        yield PAGES[1]

    index = await asyncio.wait_for(
        embed(QUESTION, pages(), EmbedKnobs(), embedder, emit, page_order="abc".index), 10
    )
    assert len(index.passages) == 3
    first = next(event for event in told if isinstance(event, Embedded))
    assert first.passages == ("a#0-8", "a#9-17")
    assert first.cosine == pytest.approx(
        [float(vector(text, 16) @ vector(QUESTION, 16)) for text in ("one fish", "two fish")], abs=1e-4
    )


async def test_pages_arriving_together_share_a_call_up_to_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batching, "BATCH_SECONDS", 60.0)  # together, however slow this machine is
    embedder = Embedder()
    pages = [[passage("a", n * 10, f"text {n}")] for n in range(25)]
    _, told = await embedded(embedder, *pages, knobs=EmbedKnobs(batch=10))
    sizes = sorted(len(call) for call in embedder.calls if call != [QUESTION])
    assert sizes == [5, 10, 10]
    assert sorted(event.texts for event in told if isinstance(event, EmbedStarted)) == sizes


@pytest.mark.parametrize(
    ("knobs", "texts", "size", "calls"),
    [(EmbedKnobs(batch=2, in_flight=3), 40, 2, 3), (EmbedKnobs(), 2_000, 300, 4)],
)
async def test_texts_and_calls_under_way_stay_within_their_limits(
    knobs: EmbedKnobs, texts: int, size: int, calls: int
) -> None:
    class Busy(Embedder):
        under_way = most = 0

        async def answer(self, texts: Sequence[str]) -> Vectors:
            if list(texts) != [QUESTION]:
                self.under_way += 1
                self.most = max(self.most, self.under_way)
                for _ in range(10):
                    await asyncio.sleep(0)
                self.under_way -= 1
            return await super().answer(texts)

    embedder = Busy()
    page = [passage("a", n * 10, f"text {n}") for n in range(texts)]
    await embedded(embedder, page, knobs=knobs)
    assert embedder.most == calls
    assert max(map(len, embedder.calls)) == size


async def test_first_passages_are_embedded_early_up_to_the_limit() -> None:
    embedder, limits = Embedder(), {"a": 1, "b": 2, "c": 2}
    arrived: list[str] = []
    calls_at_arrival: list[list[list[str]]] = []

    async def pages() -> AsyncGenerator[tuple[Passage, ...]]:
        for passages in PAGES:
            arrived.append(passages[0].place.page)
            yield passages
            while sum(map(len, embedder.calls)) < 1 + limits[arrived[-1]]:  # the question and the passages
                await asyncio.sleep(0)
            calls_at_arrival.append(list(embedder.calls))

    first = EmbeddingPriority(
        lambda passages, _: np.array(
            [row for row, entry in enumerate(passages) if entry.text != "red fish"][:3]
        ),
        lambda: limits[arrived[-1]] if arrived else 0,
    )
    index = await embed(
        QUESTION, pages(), EmbedKnobs(batch=1), embedder, [].append, page_order="abc".index, first=first
    )
    assert calls_at_arrival[-1] == [[QUESTION], ["one fish"], ["two fish"]]
    assert embedder.calls == [[QUESTION], ["one fish"], ["two fish"], ["blue fish"]]
    assert [index.passages[row].text for row in index.waiting] == ["red fish", "old fish"]


async def test_a_text_that_was_embedded_is_not_sent_again() -> None:
    embedder = Embedder()
    first = passage("a", 0, "the same text")
    seen = asyncio.Event()
    told: list[Event] = []

    def emit(event: Event) -> None:
        told.append(event)
        if isinstance(event, Embedded):
            seen.set()

    async def pages() -> AsyncGenerator[tuple[Passage, ...]]:
        yield (first,)
        await seen.wait()
        yield (passage("b", 0, "the same text"), passage("b", 20, "another"))

    await asyncio.wait_for(embed(QUESTION, pages(), EmbedKnobs(), embedder, emit, page_order="ab".index), 10)
    assert sorted(embedder.calls) == sorted([[QUESTION], ["the same text"], ["another"]])
    assert [event.reused for event in told if isinstance(event, Embedded)] == [0, 1]


class FailsOn(Embedder):
    def __init__(self, *words: str) -> None:
        super().__init__()
        self.words = words

    async def answer(self, texts: Sequence[str]) -> Vectors:
        if any(word in text for text in texts for word in self.words):
            raise EmbedFailed("The model is out.", hint="Wait.")
        return await super().answer(texts)


async def test_a_failed_call_loses_its_passages_and_no_others() -> None:
    index, told = await embedded(FailsOn("blue"), *PAGES, knobs=EmbedKnobs(batch=2))
    assert index.vectors is not None
    assert len(index.vectors) == len(index.passages)
    lost = {entry.text for entry in index.not_embedded}
    assert "blue fish" in lost
    assert lost.isdisjoint(entry.text for entry in index.passages)
    broke = [event for event in told if isinstance(event, BatchFailed)]
    assert [(event.texts, event.message, event.hint) for event in broke] == [
        (2, "The model is out.", "Wait.")
    ]
    assert not any(isinstance(event, Note) for event in told)


@pytest.mark.parametrize("word", ["asked", "fish"])
async def test_words_alone_rank_without_a_question_or_passage_vector(word: str) -> None:
    index, told = await embedded(FailsOn(word), *PAGES)
    assert index.vectors is None and index.question is None
    assert len(index.passages) == 5
    assert index.not_embedded == ()
    (note,) = [event for event in told if isinstance(event, Note)]
    assert "The model is out." in note.message and "BM25" in note.message
    assert note.hint == "Wait."


async def test_vectors_of_another_width_than_the_question_are_a_failure() -> None:
    class Growing(Embedder):
        async def answer(self, texts: Sequence[str]) -> Vectors:
            width = 8 if "blue fish" in texts else 16
            return np.stack([vector(text, width) for text in texts])

    index, told = await embedded(Growing(), *PAGES, knobs=EmbedKnobs(batch=1))
    assert [entry.text for entry in index.not_embedded] == ["blue fish"]
    (broke,) = [event for event in told if isinstance(event, BatchFailed)]
    assert "width" in broke.message


async def test_no_pages_make_an_empty_index() -> None:
    index, _ = await embedded(Embedder())
    assert index.passages == ()
    assert index.vectors is not None and index.vectors.shape == (0, 16)


async def test_cancelling_stops_the_calls_and_closes_the_stream() -> None:
    started, cancelled, closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Endless(Embedder):
        async def answer(self, texts: Sequence[str]) -> Vectors:
            if list(texts) == [QUESTION]:
                return await super().answer(texts)
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            raise AssertionError

    async def pages() -> AsyncGenerator[tuple[Passage, ...]]:
        try:
            yield PAGES[0]
            await asyncio.Event().wait()
        finally:
            closed.set()

    running = asyncio.create_task(
        embed(QUESTION, pages(), EmbedKnobs(), Endless(), lambda _: None, page_order="abc".index)
    )
    await asyncio.wait_for(started.wait(), 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert cancelled.is_set() and closed.is_set()
