"""A run of many passages with vectors, as its records: the words are those of the handbook."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from core.config.knobs import Knobs
from core.model import (
    Answer,
    AnswerKind,
    Article,
    Author,
    Citation,
    CitationCheck,
    Index,
    Page,
    Passage,
    Phase,
    Place,
    Query,
    Ranking,
    Result,
    SearchReply,
    Source,
)
from core.run import events as e
from tests.samples import records

QUESTION = "What does overlap do?"
PASSAGES_A_PAGE, WORDS, DIMENSIONS, BATCH = 40, 75, 384, 32
_HANDBOOK = Path(__file__).parents[3] / "docs" / "handbook"


def large_run(passages: int) -> list[e.Record]:
    """All events of a run of about so many passages of 500 characters, with an answer."""
    return records(*_events(max(passages // PASSAGES_A_PAGE, 1)))


def _events(page_count: int) -> Iterator[e.Event]:
    words = " ".join(path.read_text("utf-8") for path in sorted(_HANDBOOK.glob("*.md"))).split()
    seeded = random.Random(31)
    query = Query(text=QUESTION, author=Author.QUESTION)
    urls = [f"https://pages.example/{number}" for number in range(page_count)]
    yield e.RunStarted("large", QUESTION, Knobs(), "2026-01-02T03:04:05+00:00")
    yield e.QueryPlanned(query)
    yield e.SearchStarted(query)
    results = tuple(
        Result(url=url, title=f"Page {n}", snippet=" ".join(seeded.choices(words, k=30)), rank=n)
        for n, url in enumerate(urls, 1)
    )
    yield e.SearchAnswered(query, SearchReply(backend="searxng", results=results))
    passages: list[Passage] = []
    for number, url in enumerate(urls, 1):
        texts = [" ".join(seeded.choices(words, k=WORDS)) for _ in range(PASSAGES_A_PAGE)]
        starts = [sum(len(text) + 2 for text in texts[:n]) for n in range(PASSAGES_A_PAGE)]
        cut = tuple(
            Passage(text=text, place=Place(page=url, start=start, end=start + len(text)))
            for text, start in zip(texts, starts, strict=True)
        )
        yield e.FetchStarted(url, url)
        yield e.PageRead(
            Page(
                key=url,
                url=url,
                title=f"Page {number}",
                article=Article(text="\n\n".join(texts), extractor="fast"),
            )
        )
        yield e.PageChunked(url, cut)
        passages += cut
    random_vectors = np.random.default_rng(31).standard_normal((len(passages) + 1, DIMENSIONS))
    vectors = (random_vectors / np.linalg.norm(random_vectors, axis=1, keepdims=True)).astype(np.float32)
    cosine = vectors[:-1] @ vectors[-1]
    for batch, first in enumerate(range(0, len(passages), BATCH), 1):
        ids = tuple(passage.id for passage in passages[first : first + BATCH])
        yield e.EmbedStarted(batch, len(ids))
        yield e.Embedded(batch, ids, tuple(map(float, cosine[first : first + BATCH])), 0)
    yield e.Indexed(
        Index(passages=tuple(passages), vectors=vectors[:-1], question=vectors[-1], embedder="test")
    )
    order = np.argsort(-cosine)
    yield e.Ranked(Ranking(order=order, context=tuple(order[:3].tolist()), strategy="cosine", cosine=cosine))
    yield e.SourcesChosen(
        tuple(
            Source(number=number, passage=passages[row], title="A page", url=passages[row].place.page)
            for number, row in enumerate(order[:3], 1)
        )
    )
    yield e.PhaseStarted(Phase.ANSWER)
    text = "Overlap keeps sentences whole [1]."
    yield from (e.TokensWritten(f"{word} ") for word in text.split())
    yield e.Answered(Answer(kind=AnswerKind.WRITTEN, text=text, model="m@h"))
    yield e.Checked(CitationCheck(citations=(Citation(number=1, start=30, end=33, known=True),), cited=(1,)))
    yield e.RunDone()
