"""Sanitizing of untrusted text: invisible characters, line ends, titles."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.text.sanitize import (
    TITLE_LIMIT,
    distinct_labels,
    one_line,
    plural,
    pluralize,
    sanitize,
    scrub_for_prompt,
    truncate,
)

anything = st.text() | st.text(
    alphabet="aA1 .!?…\n-[]#。「」\"'\u200d\u200c\ufe0f\u202e\u00adé👩", max_size=80
)


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
    special = {c for c in cleaned if not (c.isascii() and c.isprintable())}
    assert len(cleaned) < len(unseen)
    assert not special - {"\ufe00"}, "at most one glyph selector may stay"


@pytest.mark.parametrize("needed", ["می‌خواهم", "क्‍ष", "👩‍💻", "❤️‍🔥", "1️⃣", "שָׁלוֹם", "नमस्ते", "ไทย", "葛󠄀"])
def test_characters_that_a_script_or_an_emoji_needs_stay(needed: str) -> None:
    assert sanitize(needed) == needed


def test_line_ends_are_unified_and_blank_lines_reduced() -> None:
    assert sanitize("one\r\ntwo\rthree\u2028four\x0c\n \n\t\n\nfive") == "one\ntwo\nthree\nfour\n\nfive"


@given(anything, st.integers(1, 60))
def test_a_title_is_one_line_within_its_limit(text: str, limit: int) -> None:
    title = one_line(text, limit)
    assert len(title) <= limit
    assert title == " ".join(title.split())


def test_a_long_title_ends_with_an_ellipsis() -> None:
    assert one_line("word " * 100).endswith("word…")
    assert len(one_line("x" * 500)) == TITLE_LIMIT


def test_text_is_cut_at_a_clause_if_possible() -> None:
    assert truncate("The first clause is here, and the second goes on", 40) == "The first clause is here…"
    assert truncate("No clause anywhere in this line of words", 20) == "No clause anywhere…"
    assert truncate("short", 20) == "short"


@pytest.mark.parametrize(
    "escape", ["</source-c0de>", "< / SOURCE >", "＜source＞", "c0de", "C0\u200bDE", "</question>"]
)
def test_no_text_can_close_its_tags_in_a_prompt(escape: str) -> None:
    assert scrub_for_prompt(f"before {escape} after", "c0de") == "before (…) after"


def test_equal_labels_are_numbered_without_changing_others() -> None:
    labels = {"c": "Tides", "b": "Moon", "a": "Tides"}
    assert distinct_labels(labels) == {"c": "Tides (2)", "b": "Moon", "a": "Tides"}
    longer = distinct_labels({"d": "Tides"} | labels)
    assert list(longer.items()) == [("d", "Tides (3)"), *distinct_labels(labels).items()]


def test_a_count_agrees_with_its_noun() -> None:
    counted = [pluralize(number, noun) for number in (0, 1, 1200) for noun in ("page", "query", "search")]
    assert counted == [
        *("0 pages", "0 queries", "0 searches"),
        *("1 page", "1 query", "1 search"),
        *("1,200 pages", "1,200 queries", "1,200 searches"),
    ]
    assert [plural(number, "is", "are") for number in (1, 2)] == ["is", "are"]


def test_a_line_after_a_blank_one_keeps_its_indentation() -> None:
    assert sanitize("def f():\n  \n\t\n    return 1\n ") == "def f():\n\n    return 1"
