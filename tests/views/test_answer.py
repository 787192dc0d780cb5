from __future__ import annotations

from dataclasses import replace

import pytest

from core.analysis.answers.answer_cards import document, snippets_only, words_only
from core.analysis.extraction.extractor_comparison import PagePart, Piece
from core.analysis.extraction.text_blocks import EDGE, blocks
from core.config.knobs import Strategy
from core.run.state import Run
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
    assert words_only(blind)
    assert not words_only(RUN)
    asked = replace(blind, knobs=replace(RUN.knobs, rank=replace(RUN.knobs.rank, strategy=Strategy.BM25)))
    assert not words_only(asked), "words were asked for"
    assert not words_only(Run())


def test_neighbouring_pieces_are_one_block_with_its_lines() -> None:
    pieces = [
        Piece(part=PagePart.KEPT, text="One."),
        Piece(part=PagePart.KEPT, text="Two.\n"),
        Piece(part=PagePart.KEPT, text="Three."),
        Piece(part=PagePart.ADDED, text="Four.\n"),
    ]
    assert [(block.part, block.text) for block in blocks(pieces)] == [
        (PagePart.KEPT, "One. Two.\nThree."),
        (PagePart.ADDED, "Four."),
    ]


def test_the_middle_of_what_both_have_can_be_folded() -> None:
    words = " ".join(f"word{n}" for n in range(400))
    pieces = [Piece(part=PagePart.KEPT, text=words), Piece(part=PagePart.LEFT_OUT, text=words)]
    kept, left_out = blocks(pieces, folded=True)
    assert len(kept.text) + kept.hidden + len(kept.rest) == len(words)
    assert len(kept.text) <= EDGE and len(kept.rest) <= EDGE
    assert (left_out.text, left_out.hidden) == (words, 0)


def test_only_so_much_is_shown() -> None:
    pieces = [Piece(part=part, text="x" * 90) for part in (PagePart.KEPT, PagePart.ADDED, PagePart.LEFT_OUT)]
    assert [len(block.text) for block in blocks(pieces, most=100)] == [90, 12]


def test_an_exported_answer_keeps_its_form_and_loads_nothing() -> None:
    text = "## Boats\n\nA *red* boat [1]. ![seen](https://evil.example/pixel.png)"
    run = run_of(answer=text, question="Which ![boat](https://evil.example/q.png)?")
    first = run.sources[0]
    told = document(replace(run, sources=(replace(first, title="![t](https://evil.example/t.png)"),)))
    assert "A *red* boat [1]." in told
    assert f"<{first.url}>" in told
    assert "](" not in told
    assert "`https://evil.example/pixel.png`" in told
