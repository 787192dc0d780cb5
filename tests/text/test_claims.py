"""What counts as a claim of an answer, in the Markdown that chat models write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.markdown.citations import find_citations
from core.text.markdown.cited_sentences import LEAD_IN, read_sentences
from core.text.markdown.safe_markdown import safe_markdown
from core.text.markdown.tokens import LIMIT

KNOWN = 9


def claims(text: str, known: int = KNOWN) -> list[tuple[str, tuple[int, ...]]]:
    sentences = read_sentences(text, tuple(find_citations(text, range(1, known + 1))))
    return [(claim.text, claim.cites) for claim in sentences]


def texts(text: str) -> list[str]:
    return [words for words, _ in claims(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A **bold** and *soft* `code` claim [1].", [("A bold and soft code claim.", (1,))]),
        ("- One [1].\n- Two. [2]\n", [("One.", (1,)), ("Two.", (2,))]),
        ("1. One [1]\n2. Two [2]\n10) Ten", [("One", (1,)), ("Two", (2,)), ("Ten", ())]),
        ("> Quoted. [1]\n> And on.", [("Quoted.", (1,)), ("And on.", ())]),
        ("# Head [1]\n\nClaim.\n\n## Head. Two.\n\nOther.", [("Claim.", ()), ("Other.", ())]),
        ("Claim [1].\n\n---\n\nOther.\n***\n", [("Claim.", (1,)), ("Other.", ())]),
        ("So:\n\n```py\nx[1] = 'A. B.'\n```\n\nDone.", [("Done.", ())]),
        ("See [the guide](https://a.example/b.c) now.", [("See the guide now.", ())]),
        ("In `a. B` and <https://a.example/x>.", [("In a. B and https://a.example/x.", ())]),
        ("Ways \\*not bold\\* &amp; R&D.", [("Ways *not bold* & R&D.", ())]),
        ("snake_case_names and 2 * 3 * 4.", [("snake_case_names and 2 * 3 * 4.", ())]),
        ("Dr. Smith paid 3.50 in Fig. 2. He left.", [("Dr. Smith paid 3.50 in Fig. 2.", ()), ("He left.", ())]),
        ("• One [1]\n• Two [2]", [("One", (1,)), ("Two", (2,))]),
        ("A claim right above a rule [1].\n---\n\nOther.", [("A claim right above a rule.", (1,)), ("Other.", ())]),
        ("![A chart](https://a.example/c.png) shows it [1].", [("A chart shows it.", (1,))]),
        ("Water boils<sup>[1]</sup> at 100 °C.", [("Water boils at 100 °C.", (1,))]),
        ("هذا صحيح [1]. وهذا أيضا [2].", [("هذا صحيح.", (1,)), ("وهذا أيضا.", (2,))]),
        ("你好[1]。**世界！**[2]再见", [("你好。", (1,)), ("世界！", (2,)), ("再见", ())]),
        ("“Eins.” (German) [1] “Zwei.” (German) [2]", [("“Eins.” (German)", (1,)), ("“Zwei.” (German)", (2,))]),
        ("One fell (see 3). (The other stayed.) [1]", [("One fell (see 3).", ()), ("(The other stayed.)", (1,))]),
        ("", []),
        ("[1]", []),
        ("***\n\n> \n\n- \n", []),
    ],
)  # fmt: skip
def test_claim_is_a_sentence_without_surrounding_marks(
    text: str, expected: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert claims(text) == expected


@pytest.mark.parametrize(
    "mark",
    [
        "[1][2]",
        "[1, 2]",
        "[1], [2]",
        "[1] and [2]",
        "([1], [2])",
        "[1-2]",
        "[^1][^2]",
        "【1】【2†source】",
        "[Source 1: Notes. By J. Doe!][Source 2]",
        "[Source 1: A [b] title](https://a.example/x.y) [2]",
        "(Source 1) (Source 2: Other (b).)",
        "(Sources 1 and 2)",
        "[Sources 1, 2]",
    ],
)
@pytest.mark.parametrize(
    "form",
    ["It is so {}. Next.", "It is so. {} Next.", "It is so.{} Next.", "It {} is so. Next.", "**It is so.** {} Next.",
     "- It is so. {}\n- Next.", "It is so.\n\n{}\n\nNext.", "| head | b |\n|---|---|\n| It is so. | {} |\n| Next. |"],
)  # fmt: skip
def test_citations_in_every_bracket_belong_to_their_sentence(mark: str, form: str) -> None:
    assert claims(form.format(mark)) == [("It is so.", (1, 2)), ("Next.", ())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- **Siting rules.** The farm must lie far out [1].", [("Siting rules. The farm must lie far out.", (1,))]),
        ("**Siting rules**. It must. [1] More.", [("Siting rules. It must.", (1,)), ("More.", ())]),
        ("**Siting:** it must [1].", [("Siting: it must.", (1,))]),
        ("**Siting rules.**\n\nThe farm must [1].", [("Siting rules. The farm must.", (1,))]),
        ("- **Siting rules.**\n  - It must [1].\n  - It may.", [("It must.", (1,)), ("It may.", ())]),
        ("**Key points**\n\nIt must [1].", [("It must.", (1,))]),
        ("- **Cost**\n- **Depth**", [("Cost", ()), ("Depth", ())]),
        ("**Paris**", [("Paris", ())]),
        ("**It was built in 1350 [1].** It fell.", [("It was built in 1350.", (1,)), ("It fell.", ())]),
        ("Three rules apply:\n\n1. One [1].\n2. Two [2].", [("One.", (1,)), ("Two.", (2,))]),
        ("It is ruled. Three rules apply:\n- One [1].", [("It is ruled.", ()), ("One.", (1,))]),
        ("Rules:\n• One [1]\n• Two", [("One", (1,)), ("Two", ())]),
        ("The figures:\n\n| a | b |\n|---|---|\n| x | 1 [2] |", [("x; 1", (2,))]),
        ("The act says:\n\n> It must [1].", [("It must.", (1,))]),
        ("The rule is this:\n\nIt must [1].", [("The rule is this: It must.", (1,))]),
        ("The causes [1][2]:\n- wind\n- waves [3]", [("The causes:", (1, 2)), ("wind", (1, 2)), ("waves", (3,))]),
        ("- Parts:\n  - one [1]\n- Other:", [("one", (1,)), ("Other:", ())]),
        ("In short:", [("In short:", ())]),
    ],
)  # fmt: skip
def test_what_introduces_others_belongs_to_them(
    text: str, expected: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert claims(text) == expected


def test_long_sentence_in_bold_is_a_claim_of_its_own() -> None:
    long = "The farm must lie " + "very " * (LEAD_IN // 5) + "far out."
    assert texts(f"**{long}** It may not move.") == [long, "It may not move."]


def test_table_row_is_one_claim_and_its_head_none() -> None:
    table = "| Country | Depth. | Since |\n|:--|--:|---|\n| **Norway** | 30 m. Deep. [1] | 1994 [2, 3] |\n| a \\| b | | – |\n| – | | |"
    assert claims(f"{table}\n\nAfter [4].") == [
        ("Norway; 30 m. Deep.; 1994", (1, 2, 3)),
        ("a | b; –", ()),
        ("After.", (4,)),
    ]
    quoted = "\n".join(f"> {line}" for line in table.splitlines())
    assert claims(quoted) == claims(table)


def test_lists_inside_lists_are_claims_in_reading_order() -> None:
    text = "1. **One** [1]\n   - under one [2]\n     1. deep [3]\n   - again\n2. Two.\n\n   Still two [4]."
    assert claims(text) == [
        ("One", (1,)),
        ("under one", (2,)),
        ("deep", (3,)),
        ("again", ()),
        ("Two.", ()),
        ("Still two.", (4,)),
    ]


@pytest.mark.parametrize("start", ["\x0c\n", "\u00a0\n\x0b\n", "> \x0c\n> ", "- \x0c\n  "])
def test_sentence_below_a_line_of_white_space_is_in_place(start: str) -> None:
    text = f"{start}It is so. (Source 2)"
    first, *_ = read_sentences(text, tuple(find_citations(text, range(1, 3))))
    assert text[first.start : first.end].startswith("It is so.")


pieces = st.lists(
    st.sampled_from(
        ["Red boats lie here [1].", "It is so. (Source 2)", "**Lead.** It goes on", "Rules:", "# Head", "- point [1, 2]",
         "  - deeper", "1. first", "> quoted.", "| a | b [1] |", "|---|---|", "```", "---", "[t](https://a.example/)",
         "\\* &lt; `x. y`", "*open", "**", "[2]", "• typed", "<b>x</b>", "\r", "    ", "\t", "~~gone~~ [1]", "![i](u)",
         "[Source 1: A. b](https://a.example/)", "|", "a:", "]( [", "你好。世界", "\u202eabc", "\ue000", "www.a.example"]
    ) | st.text(max_size=5),
    max_size=14,
)  # fmt: skip
documents = st.builds(
    lambda parts, gap: gap.join(parts), pieces, st.sampled_from(["\n", "\n\n", " ", "\r\n", ""])
)


@given(documents)
def test_claims_stand_in_order_and_each_has_words(text: str) -> None:
    citations = tuple(find_citations(text, range(1, 3)))
    sentences = read_sentences(text, citations)
    reached = 0
    for claim in sentences:
        assert reached <= claim.start < claim.end <= len(text)
        reached = claim.end
        assert any(map(str.isalnum, claim.text))
        assert claim.text == " ".join(claim.text.split())
    cited = {mark.number for mark in citations if mark.known}
    assert {number for claim in sentences for number in claim.cites} <= cited


@given(documents)
def test_unmarked_words_are_those_of_the_text(text: str) -> None:
    for claim in read_sentences(text, tuple(find_citations(text, range(1, 3)))):
        source = "".join(filter(str.isalnum, text[claim.start : claim.end]))
        words = iter(source)
        if not any(sign in text for sign in "&<\ue000`|![\\"):
            assert all(letter in words for letter in filter(str.isalnum, claim.text))


# Of letters that make no abbreviation, such as "ca.", and words too long for an initial.
WORDS = st.lists(st.text("xyzqw", min_size=3, max_size=8), min_size=1, max_size=4).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=6))
def test_paragraph_list_and_table_give_the_same_sentences(parts: list[str]) -> None:
    sentences = [f"X{' '.join(part.split())}. [{number}]" for number, part in enumerate(parts, 1)]
    plain = claims(" ".join(sentences))
    assert len(plain) == len(parts)
    assert claims("\n".join(f"- {sentence}" for sentence in sentences)) == plain
    assert claims("\n".join(f"1. **{sentence}**" for sentence in sentences)) == plain
    assert claims("| head |\n|---|\n" + "\n".join(f"| {sentence} |" for sentence in sentences)) == plain
    assert claims("\n".join(f"> {sentence}\n" for sentence in sentences)) == plain


def test_only_so_much_of_an_answer_is_read() -> None:
    sentences = read_sentences("A claim. " * LIMIT)
    assert len(sentences) == pytest.approx(LIMIT / 9, abs=1)
    assert sentences[-1].end <= LIMIT


@pytest.mark.parametrize("indent", ["  ", "   ", "\t", "    "])
def test_nothing_is_lost_however_deep_it_is_nested(indent: str) -> None:
    nested = "\n".join(f"{indent * depth}- depth{depth}" for depth in range(80))
    words = " ".join(texts(nested))
    assert all(f"depth{depth}" in words for depth in range(80))
    shown = safe_markdown(nested)
    assert all(f"depth{depth}" in shown for depth in range(80))
    quoted = " ".join(texts("\n".join(f"{'>' * depth} depth{depth}" for depth in range(1, 80))))
    assert all(f"depth{depth}" in quoted for depth in range(1, 80))
