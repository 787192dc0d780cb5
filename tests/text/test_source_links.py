"""Citation marks as links, in one piece and as they are streamed."""

import random
from dataclasses import replace

import pytest

from core.text.markdown.source_links import LinkedMark, LinkedWriter, without_source_links
from tests.growth import LINEAR, growth, repeated
from tests.samples import SOURCE

SOURCES = {
    1: replace(SOURCE, title="On *tides*", url="https://a.example/x"),
    2: replace(SOURCE, number=2, title="", url="https://b.example/(y)"),
    3: replace(SOURCE, number=3, title="A book", url="file:///books/a.pdf"),
    4: replace(SOURCE, number=4, title="On tides", url="https://a.example/x"),
}
LIST = "\n\n**Sources**\n"


def whole(text: str) -> tuple[str, list[LinkedMark]]:
    writer = LinkedWriter()
    return writer.write(text, SOURCES) + writer.close(SOURCES), writer.marks


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("It rose [1].", "It rose [[1]](https://a.example/x)."),
        ("Both [1][2].", "Both [[1]](https://a.example/x)[[2]](https://b.example/%28y%29)."),
        ("Both [1, 2].", "Both [[1]](https://a.example/x)[[2]](https://b.example/%28y%29)."),
        ("As (Source 2) says", "As [[1]](https://b.example/%28y%29) says"),
        ("Of three [9, 1].", "Of three [9][[1]](https://a.example/x)."),
        ("A book [3], none [9].", "A book [1], none [9]."),
        (
            "Both [2], then [4][1], [2].",
            "Both [[1]](https://b.example/%28y%29), then [[2]](https://a.example/x), [[1]](https://b.example/%28y%29).",
        ),
        ("`list[1]` and\n```\nlist[2]\n```\n", "`list[1]` and\n```\nlist[2]\n```\n"),
        ("[a link](https://c.example)", "[a link](https://c.example)"),
    ],
)
def test_marks_become_links_and_nothing_else_does(text: str, linked: str) -> None:
    written, marks = whole(text)
    assert written.partition(LIST)[0] == linked
    pages = list(dict.fromkeys(SOURCES[mark.number].url for mark in marks))
    for mark in marks:
        number = pages.index(SOURCES[mark.number].url) + 1
        assert written[mark.start : mark.end].startswith((f"[[{number}]]", f"[{number}]"))


@pytest.mark.parametrize("seed", range(20))
def test_pieces_join_to_the_whole(seed: int) -> None:
    chance = random.Random(seed)
    words = [
        "It ",
        "rose [1]",
        "[2]",
        ".",
        " (Source 2)",
        " `a[1]`",
        "\n\n```\nb[2]\n```\n",
        " [x](y)",
        " 【1】",
        " [9]",
        " [",
        "]",
    ]
    text = "".join(chance.choices(words, k=60))
    writer, pieces, rest = LinkedWriter(), [], text
    while rest:
        size = chance.randint(1, 5)
        pieces.append(writer.write(rest[:size], SOURCES))
        rest = rest[size:]
    assert ("".join(pieces) + writer.close(SOURCES), writer.marks) == whole(text)


def test_text_without_marks_is_not_held_back() -> None:
    writer = LinkedWriter()
    assert writer.write("No mark, and (soon) one ", SOURCES) == "No mark, and (soon) one "
    assert writer.write("[1", SOURCES) == ""
    assert writer.write("].", SOURCES) == "[[1]](https://a.example/x)."


def test_history_is_read_without_links_and_list() -> None:
    answer = "It rose [1], and fell [2]. **Sources** differ."
    sent, _ = whole(answer)
    assert "- [[1]](https://a.example/x) On \\*tides\\*\n- [[2]](https://b.example/%28y%29) " in sent
    assert without_source_links(sent) == answer
    assert without_source_links(sent.strip() + "\n") == answer
    assert without_source_links(answer) == answer


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["[1]", "[", "(S", "`", "[1](", "a [1] ", "\n```\n[1]"])
@pytest.mark.thorough
def test_stream_of_marks_is_linked_in_linear_time(piece: str) -> None:
    def streamed(text: str) -> None:
        writer = LinkedWriter()
        pieces = [writer.write(text[at : at + 3], SOURCES) for at in range(0, len(text), 3)]
        assert ("".join(pieces) + writer.close(SOURCES), writer.marks) == whole(text)

    assert growth(repeated(piece), streamed, 600, 3_000) < LINEAR
