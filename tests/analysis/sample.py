"""Whole runs made of texts, with the real stages and vectors by words, and no network."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from core.config.knobs import ChunkKnobs, Knobs, RankKnobs
from core.model import (
    Answer,
    AnswerKind,
    Article,
    Author,
    Index,
    Page,
    Query,
    Result,
    SearchReply,
    Skip,
    SkipReason,
)
from core.run.hit_merging import merge_hits
from core.run.state import Run, RunStatus
from core.stages.check import check
from core.stages.chunk import folded, passages_of
from core.stages.rank import rank, sources
from core.text.urls import canonical_url
from tests.services.openai_server import vector

WIDTH = 256
QUESTION = "Which boat is on the river?"
TEXTS = {
    "https://a.example/boats": "A red boat lies on the river. It was built in 1912 by Ada Stone.",
    "https://b.example/lamps": "Lamps are made of paper. They cost 15 crowns each.",
    "https://c.example/clouds": "Clouds drift over the river in the evening.",
}


def page(url: str, text: str, *, language: str = "") -> Page:
    article = Article(text=text, extractor="test", language=language)
    return Page(key=canonical_url(url), url=url, title=f"Title of {url}", article=article)


def index_of(passages: Sequence[object], question: str = QUESTION) -> Index:
    kept = tuple(passages)
    vectors = np.array([vector(p.text, WIDTH) for p in kept], dtype=np.float32).reshape(len(kept), WIDTH)  # type: ignore[attr-defined]
    return Index(passages=kept, vectors=vectors, question=vector(question, WIDTH), embedder="words@test")  # type: ignore[arg-type]


def run_of(
    texts: Mapping[str, str] = TEXTS,
    *,
    question: str = QUESTION,
    found: Mapping[str, Sequence[str]] | None = None,
    skipped: Mapping[str, SkipReason] | None = None,
    answer: str | None = None,
    knobs: Knobs | None = None,
    size: int = 500,
    **rank_knobs: object,
) -> Run:
    """A finished run over pages with these texts.

    `found` maps each query to the addresses it brought, in order; one query brought all by default.
    """
    skipped = skipped or {}
    found = found or {question: [*texts, *skipped]}
    knobs = knobs or Knobs(chunk=ChunkKnobs(size=size), rank=RankKnobs(**rank_knobs))  # type: ignore[arg-type]
    queries = tuple(Query(text=text, author=Author.MODEL) for text in found)
    replies = {
        query: SearchReply(
            backend="test",
            results=tuple(
                Result(url=url, title=url, snippet=f"Snippet about {url}.", rank=place)
                for place, url in enumerate(found[query.text], 1)
            ),
        )
        for query in queries
    }
    hits = merge_hits(list(replies.items()), knobs.search)
    pages = {canonical_url(url): page(url, text) for url, text in texts.items()}
    pages = {hit.key: pages[hit.key] for hit in hits if hit.key in pages}
    cut = [passage for page in pages.values() for passage in passages_of(page, knobs.chunk)]
    index = index_of(folded(cut), question)
    ranking = rank(question, index, knobs.rank, pages)
    run = Run(
        id="run",
        question=question,
        knobs=knobs,
        status=RunStatus.DONE,
        queries=queries,
        replies=replies,
        hits=hits,
        fetching=tuple(hit.key for hit in hits),
        pages=pages,
        skips={
            canonical_url(url): Skip(key=canonical_url(url), url=url, reason=reason, detail="detail")
            for url, reason in skipped.items()
        },
        passages=tuple(cut),
        index=index,
        ranking=ranking,
        sources=sources(ranking, index, pages, knobs.rank),
    )
    return run if answer is None else answered(run, answer)


def answered(run: Run, text: str) -> Run:
    return replace(
        run,
        text=text,
        answer=Answer(kind=AnswerKind.WRITTEN, text=text, model="m@test"),
        check=check(text, range(1, len(run.sources) + 1)),
    )
