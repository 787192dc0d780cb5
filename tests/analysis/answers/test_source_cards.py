from __future__ import annotations

from dataclasses import replace

import pytest

from core.analysis.answers.source_cards import answer_document, bm25_fallback, snippets_only, source_cards
from core.analysis.rankings.ranked_passages import (
    cosines,
)
from core.config.knobs import Strategy
from core.model import Page
from core.run.state import Run
from tests import samples
from tests.analysis.folded import finished
from tests.analysis.sample import run_of

RUN = run_of()


def with_snippets(count: int) -> Run:
    pages = {key: replace(page, snippet_only=at < count) for at, (key, page) in enumerate(RUN.pages.items())}
    return replace(RUN, pages=pages)


@pytest.mark.parametrize(("count", "told"), [(0, False), (2, False), (3, True)])
def test_snippets_only_is_said_when_no_page_is_whole(count: int, told: bool) -> None:
    assert snippets_only(with_snippets(count)) is told
    assert not snippets_only(Run())


def test_words_only_is_said_when_vectors_were_wanted_and_there_are_none() -> None:
    assert RUN.index is not None and RUN.ranking is not None
    blind = replace(
        RUN,
        index=replace(RUN.index, vectors=None, question=None),
        ranking=replace(RUN.ranking, strategy=Strategy.BM25, cosine=None),
    )
    assert bm25_fallback(blind)
    assert not bm25_fallback(RUN)
    asked = replace(blind, knobs=replace(RUN.knobs, rank=replace(RUN.knobs.rank, strategy=Strategy.BM25)))
    assert not bm25_fallback(asked), "words were asked for"
    assert not bm25_fallback(Run())


def test_an_exported_answer_keeps_its_form_and_loads_nothing() -> None:
    text = "## Boats\n\nA *red* boat [1]. ![seen](https://evil.example/pixel.png)"
    run = run_of(answer=text, question="Which ![boat](https://evil.example/q.png)?")
    first = run.sources[0]
    told = answer_document(replace(run, sources=(replace(first, title="![t](https://evil.example/t.png)"),)))
    assert "A *red* boat [1]." in told
    assert f"<{first.url}>" in told
    assert "](" not in told
    assert "`https://evil.example/pixel.png`" in told


def test_a_card_tells_how_often_its_source_is_cited_and_where_else_it_stands() -> None:
    (card,) = source_cards(finished())
    assert (card.number, card.citations, card.title) == (1, 1, "One")
    assert card.cosine == pytest.approx(0.8)
    assert card.other_sites == ()
    other = Page(key=samples.SLOW, url="https://www.b.example/", title="", article=samples.PAGE.article)
    (card,) = source_cards(replace(finished(), pages={samples.KEY: samples.PAGE, samples.SLOW: other}))
    assert card.other_sites == ("b.example",)


def test_without_vectors_there_are_no_cosines() -> None:
    run = finished()
    assert run.ranking is not None
    assert cosines(replace(run, ranking=replace(run.ranking, cosine=None))) == {}
