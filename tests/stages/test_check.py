import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stages.check import check
from tests.growth import LINEAR, growth, repeated

markup = st.lists(
    st.sampled_from([*'[]()^【】0123456789 ,-–.`~<>!#:/\\\nhtps"ab。', "[Source ", "(Sources ", "http://a/"]),
    max_size=120,
).map("".join)


def marks(text: str, known: int = 3) -> list[tuple[int, str]]:
    return [(mark.number, text[mark.start : mark.end]) for mark in check(text, range(1, known + 1)).citations]


def cites(text: str, known: int = 3) -> list[tuple[str, tuple[int, ...]]]:
    return [(text[s.start : s.end], s.cites) for s in check(text, range(1, known + 1)).sentences]


@given(markup | st.text(), st.integers(0, 9))
def test_every_answer_can_be_checked(text: str, known: int) -> None:
    result = check(text, range(1, known + 1))
    for mark in result.citations:
        assert any(
            unicodedata.digit(character, None) is not None for character in text[mark.start : mark.end]
        )
        assert mark.known == (1 <= mark.number <= known)
    assert list(result.citations) == sorted(result.citations, key=lambda mark: mark.start)
    assert set(result.cited) == {mark.number for mark in result.citations if mark.known}
    assert {n for s in result.sentences for n in s.cites} <= set(result.cited)
    ends = [0, *(s.end for s in result.sentences)]
    assert all(before <= s.start < s.end for before, s in zip(ends, result.sentences, strict=False))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("So [3].", [(3, "[3]")]),
        ("So [1][2].", [(1, "[1]"), (2, "[2]")]),
        ("So [1, 2; 3].", [(1, "[1, 2; 3]"), (2, "[1, 2; 3]"), (3, "[1, 2; 3]")]),
        ("So [1-3].", [(1, "[1-3]"), (2, "[1-3]"), (3, "[1-3]")]),
        ("So [1–2, 3].", [(1, "[1–2, 3]"), (2, "[1–2, 3]"), (3, "[1–2, 3]")]),
        ("So [^1] and [^2, ^3].", [(1, "[^1]"), (2, "[^2, ^3]"), (3, "[^2, ^3]")]),
        ("是的【1】，【2†来源】。", [(1, "【1】"), (2, "【2†来源】")]),
        ("So [ 1 ] and [1 and 2].", [(1, "[ 1 ]"), (1, "[1 and 2]"), (2, "[1 and 2]")]),
        ("So [1](see below).", [(1, "[1]")]),
        ("So [1](https://a.example/x_(y)).", [(1, "[1](https://a.example/x_(y))")]),
        ("So [1][9], or [2, 9].", [(1, "[1]"), (9, "[9]"), (2, "[2, 9]"), (9, "[2, 9]")]),
        ("See https://a.example/page[1] for it.", [(1, "[1]")]),
        ("So [Source 2].", [(2, "[Source 2]")]),
        ("So [source 2] and [SOURCE 3].", [(2, "[source 2]"), (3, "[SOURCE 3]")]),
        ("So [Source 2: A title, v. 3].", [(2, "[Source 2: A title, v. 3]")]),
        ("So [Source 2: A [b] title].", [(2, "[Source 2: A [b] title]")]),
        ("So [Source 2: A](https://a.example/x_(y)[1]).", [(2, "[Source 2: A](https://a.example/x_(y)[1])")]),
        ("So (Source 2), (Source 3: A (b)).", [(2, "(Source 2)"), (3, "(Source 3: A (b))")]),
        ("So [Sources 1, 3].", [(1, "[Sources 1, 3]"), (3, "[Sources 1, 3]")]),
        ("So (Sources 1 and 3).", [(1, "(Sources 1 and 3)"), (3, "(Sources 1 and 3)")]),
        ("So [Source 1, Source 3].", [(1, "[Source 1, Source 3]"), (3, "[Source 1, Source 3]")]),
        ("So [Sources 1-2].", [(1, "[Sources 1-2]"), (2, "[Sources 1-2]")]),
        ("So 【Source 2】.", [(2, "【Source 2】")]),
    ],
)
def test_marks_in_all_their_spellings_are_citations(text: str, found: list[tuple[int, str]]) -> None:
    assert marks(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "A link [12](http://a.example/) is none.",
        "A link [4](<http://a.example> ) or ![2](b.png) is none.",
        'A link [4](http://a.example/x_(y) "title") is none.',
        "A year [2024] and a number [4] without a source are none.",
        "Code `x[1]` and ``y`[2]`` is none.",
        "```python\nx[1]\n```",
        "~~~\nx[1]",
        "An address https://a.example/?q[1]=2 is none.",
        "An address <https://a.example/[1]> is none.",
        '<a href="[1]">so</a>',
        "[1]: http://evil.example/",
        "An escaped \\[1\\] is none.",
        "A number [10,000] or [007] or [1.5] is none.",
        "A box [ ] or [x] is none.",
        "Code `[Source 1]` is none.",
        "```\n[Source 1: A title](http://a.example)\n```",
        "[Source 1]: http://evil.example/",
        "An image ![Source 1](b.png) is none.",
        "An escaped \\[Source 1\\] is none.",
        "[Source] or (Sources) or [Source A] is none.",
    ],
)
def test_numbers_that_are_no_citations_are_left_alone(text: str) -> None:
    assert marks(text) == []


def test_unknown_numbers_are_shown_as_unknown() -> None:
    result = check("In [2024] there were [0] of [Source 4], not [3][5].", range(1, 4))
    assert [(mark.number, mark.known) for mark in result.citations] == [(4, False), (3, True), (5, False)]
    assert result.unknown == (4, 5)
    assert result.cited == (3,)


def test_range_without_end_makes_no_million_citations() -> None:
    assert [number for number, _ in marks("So [Sources 1-999] and [Sources 9-2].")] == [1, 999, 9, 2]


def test_cited_numbers_stand_in_order_of_first_use() -> None:
    assert check("So [3]. And [1]. And [3][2].", range(1, 4)).cited == (3, 1, 2)


def test_marks_after_the_full_stop_belong_to_the_sentence() -> None:
    assert cites("First.[1] Second. [2][3] Third [1], still third.") == [
        ("First.[1]", (1,)),
        ("Second. [2][3]", (2, 3)),
        ("Third [1], still third.", (1,)),
    ]


def test_marks_on_their_own_line_belong_to_the_sentence() -> None:
    assert cites("A claim.\n\n[1] [2]\n\nAnother.") == [("A claim.\n\n[1] [2]", (1, 2)), ("Another.", ())]


def test_the_title_in_a_mark_ends_no_sentence() -> None:
    mark = "[Source 2: Notes by J. Doe. A title! Is it?](https://a.example/x.y)"
    assert cites(f"First {mark}. Second. {mark} Third.") == [
        (f"First {mark}.", (2,)),
        (f"Second. {mark}", (2,)),
        ("Third.", ()),
    ]


def test_headings_rules_and_fences_are_no_sentences() -> None:
    text = "## What it is\n\n- A point. [1]\n- Another [2]\n\n---\n\n```\ncode()\n```"
    assert cites(text) == [("A point. [1]", (1,)), ("Another [2]", (2,))]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "[1",
        "[1]",
        "[1,",
        "](",
        "[](",
        "[](x(",
        "`",
        "`a",
        "a` b`` ",
        "<a ",
        "~~~\n",
        "http://a[1]",
        "【1",
        "\n[",
        "[Source 1",
        "[Source 1: ",
        "[Source 1: [",
        "[Source 1: [a]",
        "(Source 1: (",
        "[Source 1](x(",
        "[Source 1, Source 2",
        "[Source 1" + " and Source 1" * 40,
        "[Source 1: a](http://b",
        "- a [1]\n",
        "| a [1] | b |\n",
        "**a.** b [1]. ",
        "> - a\n",
        "*a* ",
        "a:\n\n",
        "[a](b) ",
        "a\\* ",
    ],
)
@pytest.mark.thorough
def test_time_grows_no_faster_than_the_answer(piece: str) -> None:
    assert growth(repeated(piece), lambda text: check(text, range(1, 4)), 3_000, 30_000) < LINEAR
