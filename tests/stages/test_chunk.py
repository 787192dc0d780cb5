import asyncio
import re
from collections.abc import AsyncGenerator
from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from core.config.knobs import ChunkKnobs
from core.model import Article, Page, Passage, Phase, Place, StructureKind
from core.run.events import Event, PageChunked, PhaseEnded, PhaseStarted
from core.stages.chunk import chunk, folded, passages_of
from core.stages.streams import collected
from tests.growth import LINEAR, growth, repeated
from tests.stages.fakes import NoEmbed

CLUSTER = regex.compile(r"\X", regex.DOTALL)

PIECES = st.one_of(
    st.text(min_size=0, max_size=30),
    st.sampled_from(
        [
            "Dr. Ada wrote 3.14 pages, e.g. this one. ",
            "What now? It rained! ",
            "春眠不觉晓，处处闻啼鸟。",
            "夜来风雨声、花落知多少？",
            "هل هذا سؤال؟ نعم. ",
            "यह एक वाक्य है। और यह दूसरा। ",
            "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd. ",
            "👩‍👩‍👧‍👦🏳️‍🌈🇩🇪🇫🇷👍🏽",
            "e\u0301\u0323o\u0308 ",
            "각각가나다",
            "ภาษาไทยไม่มีช่องว่างระหว่างคำ",
            "\n\n",
            "\n",
            " " * 40,
            "x" * 130,
            "word " * 60,
            "-" * 120,
            "a\u0300" * 90,
            "。\u0301",
            "0" * 17 + " " * 80 + "0" * 4,
        ]
    ),
)
TEXTS = st.lists(PIECES, max_size=25).map("".join)
KNOBS = st.builds(ChunkKnobs, size=st.integers(100, 700), overlap=st.integers(0, 50))


def page(text: str, key: str = "https://a.example/") -> Page:
    return Page(key=key, url=key, title="A page", article=Article(text=text, extractor="test"))


def texts(text: str, size: int = 500, overlap: int = 0) -> list[str]:
    return [passage.text for passage in passages_of(page(text), ChunkKnobs(size=size, overlap=overlap))]


@given(TEXTS, KNOBS)
def test_passage_is_its_slice_of_the_page_within_the_size(text: str, knobs: ChunkKnobs) -> None:
    for passage in passages_of(page(text), knobs):
        assert passage.text == text[passage.place.start : passage.place.end]
        assert passage.text == passage.text.strip() != ""
        assert len(passage.text) <= knobs.size


@given(TEXTS, KNOBS)
def test_passages_advance_and_repeat_no_more_than_the_overlap(text: str, knobs: ChunkKnobs) -> None:
    found = passages_of(page(text), knobs)
    for one, other in pairwise(found):
        assert one.place.start < other.place.start
        assert one.place.end < other.place.end
        assert one.place.end - other.place.start <= knobs.overlap_characters


@given(TEXTS, KNOBS)
def test_only_white_space_and_near_empty_pieces_are_lost(text: str, knobs: ChunkKnobs) -> None:
    found = passages_of(page(text), knobs)
    covered: set[int] = set()
    for passage in found:
        covered.update(range(passage.place.start, passage.place.end))
    lost = "".join("\0" if at in covered else character for at, character in enumerate(text))
    for stretch in re.split("\0+", lost):
        pieces = 1 + 3 * len(stretch) // knobs.size  # neighbours that would fit together are one
        assert sum(map(str.isalnum, stretch)) < 25 * pieces
    if text.strip():
        assert found


@given(TEXTS, KNOBS)
def test_no_passage_begins_or_ends_inside_a_visible_character(text: str, knobs: ChunkKnobs) -> None:
    edges = {match.start() for match in CLUSTER.finditer(text)} | {len(text)}
    for passage in passages_of(page(text), knobs):
        start, end = passage.place.start, passage.place.end
        assert start in edges or text[start - 1].isspace()
        assert end in edges or text[end].isspace()


def test_only_a_character_larger_than_a_passage_is_divided() -> None:
    text = "Before it. " + "e" + "\u0301" * 350 + " after it."
    found = texts(text, size=100)
    assert all(len(passage) <= 100 for passage in found)
    assert "".join("".join(found).split()) == "".join(text.split())


def test_sentences_stay_whole_when_they_fit() -> None:
    sentence = "Dr. Smith paid $3.50 to A. Jones, e.g. for tea, on Jan. 5 at St. Ives. "
    found = texts(sentence * 30, size=200)
    assert {passage.count("Dr.") for passage in found} == {2}
    assert all(passage.endswith("St. Ives.") for passage in found)


@pytest.mark.parametrize(
    "sentence",
    [
        "这个句子没有空格但是有一个句号。",
        "هذه جملة قصيرة باللغة العربية؟ ",
        "यह हिन्दी का एक छोटा वाक्य है। ",
        "Is it so?! ",
    ],
)
def test_sentences_end_in_any_script(sentence: str) -> None:
    found = texts(sentence * 40, size=150)
    assert len(found) > 1
    assert all(passage.endswith(sentence.strip()[-1]) for passage in found)
    assert all(passage.startswith(sentence[:4]) for passage in found)


def test_a_passage_prefers_to_end_with_its_paragraph() -> None:
    paragraph = "This paragraph speaks of one thing only. It has about three hundred characters. " * 4
    found = texts(f"{paragraph}\n\n{paragraph}\n\n{paragraph}", size=500)
    assert found == [paragraph.strip()] * 3


def test_short_paragraphs_share_a_passage() -> None:
    found = texts("\n\n".join(f"Line {n} of a list with short items." for n in range(40)), size=500)
    assert all(len(passage) > 250 for passage in found)


def test_a_heading_stays_with_what_it_heads() -> None:
    body = "The text below a heading explains it at some length, in sentences like this one. " * 4
    found = texts(f"First part\n\n{body}\n\nSecond part\n\n{body}", size=450)
    assert [passage.split("\n")[0] for passage in found] == ["First part", "Second part"]


def test_long_paragraph_is_divided_evenly_without_a_short_rest() -> None:
    found = texts("Each of these sentences is fifty characters long. " * 11, size=500)
    assert len(found) == 2
    assert min(map(len, found)) > 200


def test_overlap_repeats_whole_words_within_a_paragraph_only() -> None:
    sentence = "Alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu. "
    paragraph = (sentence * 12).strip()
    text = f"{paragraph}\n\n{paragraph}"
    found = passages_of(page(text), ChunkKnobs(size=300, overlap=20))
    repeated = [
        text[other.place.start : one.place.end]
        for one, other in pairwise(found)
        if "\n\n" not in text[one.place.end : other.place.start + 1]
    ]
    assert len(repeated) >= 4
    assert all(0 < len(piece) <= 60 for piece in repeated)
    assert all(set(piece.split()) <= set(sentence.split()) for piece in repeated)
    assert any(passage.place.start == text.index("\n\n") + 2 for passage in found)


def test_near_empty_pieces_are_dropped_unless_they_are_all() -> None:
    words = "A passage that says something worth keeping, in a few plain words. " * 5
    assert texts(f"{words}\n\n{'- ' * 200}\n\n{words}", size=350) == [words.strip()] * 2
    assert texts("* * *") == ["* * *"]
    assert texts("春眠不觉晓，处处闻啼鸟。") == ["春眠不觉晓，处处闻啼鸟。"]
    assert texts(" \n\t ") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile", ["a", "A. ", "(", "ab\n\n", "e\u0301", "👩\u200d", " ", "[1]", "\n", "a.b.", "中"]
)
@pytest.mark.thorough
def test_time_grows_no_faster_than_the_text(hostile: str) -> None:
    def cut(text: str) -> object:
        return passages_of(page(f"x{text}y"), ChunkKnobs(size=300, overlap=50))

    assert growth(repeated(hostile), cut, 60_000, 600_000) < LINEAR


def test_repeated_text_is_folded_into_its_first_place() -> None:
    def passage(key: str, text: str) -> Passage:
        return Passage(text=text, place=Place(page=key, start=0, end=len(text)))

    one, two, other, three = (
        passage("a", "Same  text"),
        passage("b", "Same\ntext"),
        passage("b", "Other text"),
        passage("c", "Same text"),
    )
    first, second = folded([one, two, other, three])
    assert (first.text, first.place, first.also) == ("Same  text", one.place, (two.place, three.place))
    assert second == other
    assert folded(folded([one, two, other, three])) == (first, second)


async def test_pages_are_cut_as_they_arrive() -> None:
    told: list[Event] = []
    gate = asyncio.Event()

    async def pages() -> AsyncGenerator[Page]:
        yield page("The first page has a sentence.", "a")
        await gate.wait()
        yield page("The second page is a large one. " * 5000, "b")

    stream = chunk(pages(), ChunkKnobs(), NoEmbed(), told.append)
    first = await anext(stream)
    assert [passage.text for passage in first] == ["The first page has a sentence."]
    assert told == [PhaseStarted(Phase.CHUNK), PageChunked("a", first)]
    gate.set()
    (second,) = await collected(stream)
    assert len(second) > 300
    assert told[2:] == [PageChunked("b", second), PhaseEnded(Phase.CHUNK)]


@pytest.mark.parametrize("overlap", [0, 20])
@pytest.mark.parametrize("before", range(0, 500, 70))
def test_table_or_code_is_one_passage_or_cut_between_lines(before: int, overlap: int) -> None:
    code = "```\n" + "\n\n".join(f"    call({number}). Then. Or" for number in range(14)) + "\n```"
    rows = [f"Model: number {number}. A; Price: {number} €" for number in range(60)]
    text = "\n\n".join(("Some words. " * (before // 12) + "Now:", code, "Between. And.", "\n".join(rows)))
    start = text.index(code)
    structures = (
        (start, start + len(code), StructureKind.CODE),
        (text.index(rows[0]), len(text), StructureKind.TABLE),
    )
    cut = Page(key="k", url="u", title="", article=Article(text=text, extractor="", structures=structures))
    passages = passages_of(cut, ChunkKnobs(size=500, overlap=overlap))
    assert sum(code in passage.text for passage in passages) == 1
    assert sum("call(" in passage.text for passage in passages) == 1
    assert all(sum(row in passage.text for passage in passages) == 1 for row in rows)
    assert all(len(passage.text) <= 500 for passage in passages)
