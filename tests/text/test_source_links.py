"""Citation marks as links, in one piece and as they are streamed."""

import random
from dataclasses import replace

import pytest

from core.text.markdown.source_links import LinkedMark, LinkedWriter, source_list, without_source_links
from tests.growth import LINEAR, growth, repeated
from tests.samples import SOURCE

ADDRESSES = {1: "https://a.example/x", 2: "https://b.example/%28y%29", 3: ""}


def whole(text: str) -> tuple[str, list[LinkedMark]]:
    writer = LinkedWriter()
    return writer.write(text, ADDRESSES) + writer.close(ADDRESSES), writer.marks


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("It rose [1].", "It rose [[1]](https://a.example/x)."),
        ("Both [1][2].", "Both [[1]](https://a.example/x)[[2]](https://b.example/%28y%29)."),
        ("Both [1, 2].", "Both [[1]](https://a.example/x)[[2]](https://b.example/%28y%29)."),
        ("As (Source 2) says", "As [[2]](https://b.example/%28y%29) says"),
        ("Of three [9, 1].", "Of three [9][[1]](https://a.example/x)."),
        ("A book [3], none [9].", "A book [3], none [9]."),
        ("`list[1]` and\n```\nlist[2]\n```\n", "`list[1]` and\n```\nlist[2]\n```\n"),
        ("[a link](https://c.example)", "[a link](https://c.example)"),
    ],
)
def test_marks_become_links_and_nothing_else_does(text: str, linked: str) -> None:
    written, marks = whole(text)
    assert written == linked
    for mark in marks:
        assert written[mark.start : mark.end].startswith(("[[", f"[{mark.number}]"))


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
        pieces.append(writer.write(rest[:size], ADDRESSES))
        rest = rest[size:]
    assert ("".join(pieces) + writer.close(ADDRESSES), writer.marks) == whole(text)


def test_text_without_marks_is_not_held_back() -> None:
    writer = LinkedWriter()
    assert writer.write("No mark, and (soon) one ", ADDRESSES) == "No mark, and (soon) one "
    assert writer.write("[1", ADDRESSES) == ""
    assert writer.write("].", ADDRESSES) == "[[1]](https://a.example/x)."


def test_history_is_read_without_links_and_list() -> None:
    sources = [
        replace(SOURCE, title="On *tides*", url="https://a.example/x_(y)"),
        replace(SOURCE, number=2, title="", url="https://b.example/"),
    ]
    listed = source_list(sources)
    assert "- [[1]](https://a.example/x_%28y%29) On \\*tides\\*" in listed
    answer = "It rose [1]. **Sources** differ."
    writer = LinkedWriter()
    addresses = {1: "https://a.example/x_%28y%29"}
    sent = writer.write(answer, addresses) + writer.close(addresses) + listed
    assert without_source_links(sent) == answer
    assert without_source_links(sent.strip() + "\n") == answer
    assert without_source_links(answer) == answer


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["[1]", "[", "(S", "`", "[1](", "a [1] ", "\n```\n[1]"])
@pytest.mark.thorough
def test_stream_of_marks_is_linked_in_linear_time(piece: str) -> None:
    def streamed(text: str) -> None:
        writer = LinkedWriter()
        pieces = [writer.write(text[at : at + 3], ADDRESSES) for at in range(0, len(text), 3)]
        assert without_source_links("".join(pieces) + writer.close(ADDRESSES)) == text

    assert growth(repeated(piece), streamed, 600, 3_000) < LINEAR
