from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.knobs import Boundary, ChunkKnobs
from core.model import Article, Page
from core.stages.chunk import passages_of
from core.text.sentences import sentences

WORDS = st.sampled_from(["river", "boat.", "A", "stone!", "lamp?", "x" * 150, "\n\n", "春眠不觉晓。", "3.14"])
TEXTS = st.lists(WORDS, max_size=120).map(" ".join)
PROSE = " ".join(f"Sentence number {n} tells of boats on rivers." for n in range(40))


def cut(text: str, boundary: Boundary, size: int = 200, overlap: int = 0) -> list[tuple[int, int]]:
    page = Page(key="p", url="p", title="", article=Article(text=text, extractor="test"))
    knobs = ChunkKnobs(size=size, overlap=overlap, boundary=boundary)
    return [(passage.place.start, passage.place.end) for passage in passages_of(page, knobs)]


@given(TEXTS, st.sampled_from(Boundary), st.integers(100, 400), st.integers(0, 50))
def test_every_boundary_keeps_to_the_size_and_moves_on(
    text: str, boundary: Boundary, size: int, overlap: int
) -> None:
    spans = cut(text, boundary, size, overlap)
    assert all(0 < end - start <= size for start, end in spans)
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)
    assert [start for start, _ in spans] == sorted({start for start, _ in spans})


@pytest.mark.parametrize("boundary", Boundary)
@pytest.mark.parametrize("overlap", [0, 20, 50])
def test_nothing_but_white_space_is_lost(boundary: Boundary, overlap: int) -> None:
    held = set[int]()
    for start, end in cut(PROSE, boundary, overlap=overlap):
        held.update(range(start, end))
    assert all(PROSE[at].isspace() for at in range(len(PROSE)) if at not in held)


def test_sentences_stay_whole_and_fixed_cuts_do_not_care() -> None:
    ends = {end for _, end in sentences(PROSE)}
    assert all(end in ends for _, end in cut(PROSE, Boundary.SENTENCE))
    fixed = cut(PROSE, Boundary.FIXED)
    assert any(end not in ends for _, end in fixed)
    assert len({end - start for start, end in fixed[:-1]}) <= 3


def test_the_overlap_is_of_whole_sentences_or_of_characters() -> None:
    starts = {start for start, _ in sentences(PROSE)}
    spans = cut(PROSE, Boundary.SENTENCE, overlap=30)
    assert all(start in starts for start, _ in spans)
    assert any(second < end for (_, end), (second, _) in pairwise(spans))
    fixed = cut(PROSE, Boundary.FIXED, overlap=30)
    assert fixed[1][0] - fixed[0][0] == pytest.approx(140, abs=1)


@pytest.mark.parametrize("boundary", Boundary)
@pytest.mark.parametrize("text", ["", "   ", "x", "x" * 5000])
def test_texts_without_sentences_are_cut_too(boundary: Boundary, text: str) -> None:
    spans = cut(text, boundary)
    assert bool(spans) is bool(text.strip())


def test_recursive_splitting_takes_the_coarsest_separator_that_fits() -> None:
    short, other = "The first boat. The second boat.", "A third one"
    lines = "\n".join(f"Line {n} of the list of all boats" for n in range(5))
    words = " ".join(["river"] * 40)
    text = f"{short}\n\n{other}\n\n{lines}\n\n{words}\n\n{'x' * 250}"
    pieces = [text[start:end] for start, end in cut(text, Boundary.RECURSIVE, size=100)]
    assert pieces[:3] == [
        f"{short}\n\n{other}",
        "\n".join(lines.split("\n")[:3]),
        "\n".join(lines.split("\n")[3:]),
    ]
    assert all(set(piece.split()) == {"river"} for piece in pieces[3:6])
    assert [len(piece) for piece in pieces[-3:]] == [100, 100, 50]


def test_with_sections_no_passage_reaches_over_a_heading() -> None:
    parts = [
        "Mills\n\nThe mill grinds corn.",
        "Boats\n\nThe boat carries corn.",
        "Locks\n\nThe lock lifts boats.",
    ]
    text = "\n\n".join(parts)
    starts = [text.index(part) for part in parts]
    sections = tuple((start, text[start:].split("\n")[0]) for start in starts)
    page = Page(key="p", url="p", title="", article=Article(text=text, extractor="test", sections=sections))
    by_section = passages_of(page, ChunkKnobs(size=200, boundary=Boundary.SECTION))
    assert [passage.text for passage in by_section] == parts
    assert [text[one.place.start : one.place.end] for one in by_section] == parts
    assert len(passages_of(page, ChunkKnobs(size=200))) == 1
