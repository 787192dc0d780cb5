from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.text.sanitize import TITLE_LIMIT, one_line, sanitize, truncate
from core.text.sentences import sentences
from tests.growth import LINEAR, growth, repeated

anything = st.text() | st.text(
    alphabet="aA1 .!?…\n-[]#。「」\"'\u200d\u200c\ufe0f\u202e\u00adé👩", max_size=80
)


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


# --- what a reader cannot see -----------------------------------------------------------------------------


@given(anything)
@example("\u200d\ufe0f")
@example("\ufe0f\u200d")
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert sanitize(sanitize(text)) == sanitize(text)


@given(anything)
def test_plain_text_can_always_be_sent(text: str) -> None:
    sanitize(text).encode()


@pytest.mark.parametrize(
    "unseen",
    [
        "\u202eoverride\u202c",
        "\u2066isolate\u2069",
        "zero\u200bwidth",
        "soft\u00adhyphen",
        "\ufeffmark",
        "tag\U000e0069\U000e0067\U000e006e\U000e006f\U000e0072\U000e0065",
        "bell\x07\x1b[31m",
        "half\ud800",
        "filler\u3164",
        "Latin\u200djoiner\u200c",
        "bytes\ufe00\ufe01\ufe02\U000e0100\U000e0101",
    ],
)
def test_characters_that_no_reader_sees_are_taken_out(unseen: str) -> None:
    cleaned = sanitize(unseen)
    seen = {c for c in cleaned if not (c.isascii() and c.isprintable())}
    assert len(cleaned) < len(unseen)
    assert not seen - {"\ufe00"}, "at most one glyph selector may stay"


@pytest.mark.parametrize(
    "needed",
    ["می‌خواهم", "क्‍ष", "👩‍💻", "❤️‍🔥", "1️⃣", "שָׁלוֹם", "नमस्ते", "ไทย", "葛󠄀"],
)
def test_characters_that_a_script_or_an_emoji_needs_stay(needed: str) -> None:
    assert sanitize(needed) == needed


def test_line_ends_become_one_kind_and_blank_lines_do_not_pile_up() -> None:
    assert sanitize("one\r\ntwo\rthree\u2028four\x0c\n \n\t\n\nfive") == "one\ntwo\nthree\nfour\n\nfive"


@given(anything, st.integers(1, 60))
def test_a_title_is_one_line_within_its_limit(text: str, limit: int) -> None:
    title = one_line(text, limit)
    assert len(title) <= limit
    assert title == " ".join(title.split())


def test_a_long_title_ends_with_an_ellipsis() -> None:
    assert one_line("word " * 100).endswith("word…")
    assert len(one_line("x" * 500)) == TITLE_LIMIT


def test_a_text_is_cut_at_a_clause_rather_than_inside_one() -> None:
    assert truncate("The first clause is here, and the second goes on", 40) == "The first clause is here…"
    assert truncate("No clause anywhere in this line of words", 20) == "No clause anywhere…"
    assert truncate("short", 20) == "short"


# --- sentences --------------------------------------------------------------------------------------------


@given(anything)
def test_sentences_are_in_order_and_leave_out_nothing_but_white_space(text: str) -> None:
    at = 0
    for start, end in sentences(text):
        assert at <= start < end <= len(text)
        assert not text[at:start].strip()
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()


@pytest.mark.parametrize(
    "parts",
    [
        ("Dr. Smith paid 3.50 to J. K. Rowling.", "He left!", "Why?", "Nobody knows…"),
        ("The U.S. Army came.", "It left the U.S.", "The end."),
        ("See Fig. 3 and No. 5.", "The answer is no.", "Then stop."),
        ('He said "Why?" and left.', '"No."', "She agreed, e.g. Foo did."),
        ("Measured at 9 a.m. on 3 May.", "(Twice.)", "Then again."),
        ("It is so.[1][2]", "It is not. [3]", "Perhaps [4].", "Who knows?"),
        ("It is so.【1】", "It is not.[^2]", "Perhaps."),
        ("你好。", "世界！", "「好。」", "吗？"),
        ("मैं यहाँ हूँ।", "तुम कहाँ हो?"),
        ("هل هذا صحيح؟", "نعم."),
        ("Բարեւ։", "Ինչպես ես"),
        ("**Bold.**", "_Slanted._", "Plain."),
        ("¿Dónde?", "¡Aquí!", "“Sí.”", "«No.»"),
    ],
)
def test_sentences_end_where_a_reader_would_say(parts: tuple[str, ...]) -> None:
    assert split(" ".join(parts)) == list(parts)


def test_unspaced_scripts_need_no_space_between_sentences() -> None:
    assert split("你好。世界！再见") == ["你好。", "世界！", "再见"]


def test_blank_lines_and_list_items_end_a_sentence_and_single_line_breaks_do_not() -> None:
    text = "A heading\n\nOne line\ngoes on here.\n1. First item\n2. Second. More\n- Third\n# Next"
    assert split(text) == [
        "A heading",
        "One line\ngoes on here.",
        "1. First item",
        "2. Second.",
        "More",
        "- Third",
        "# Next",
    ]


@pytest.mark.parametrize(
    "piece",
    [
        ".",
        ". ",
        ".[1 ",
        ".[1, ",
        "\n ",
        "\n",
        "a. B ",
        "Dr. ",
        '."',
        "1. ",
        "。",
        "\n- ",
        "[1]",
        "\u200d",
        "\ufe0f ",
        "x" * 50,
    ],
)
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    for work in (sentences, sanitize):
        assert growth(repeated(piece), work, 8_000, 80_000) < LINEAR
