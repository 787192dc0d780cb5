"""Markdown for a file is what was written, and nothing in it acts in a viewer that allows everything."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.markdown.file_markdown import file_link, file_markdown, file_text
from core.text.markdown.tokens import LIMIT
from core.text.sanitize import sanitize
from tests.browser.payloads import PAYLOADS
from tests.growth import LINEAR, growth, repeated
from tests.services.openai_server import MARKDOWN_ANSWER
from tests.text.rendered import READER, links, loads_or_runs, tokens

ANCHORS = {1: "source-1", 2: "source-2", 3: "source-3"}


def assert_inert(text: str) -> None:
    assert not loads_or_runs(text)
    for link in links(text):
        assert link.startswith(("http://", "https://")) or link in {
            f"#{anchor}" for anchor in ANCHORS.values()
        }


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_payload_acts(payload: str) -> None:
    assert_inert(file_markdown(payload, ANCHORS))
    assert_inert(f"# {file_text(payload)}\n\n{file_link(file_text(payload), payload)}")


marks = st.sampled_from(
    [
        *"[]()!<>*_`~#|\\&=+->.:\n ",
        "[1]",
        "](",
        "http://a.example",
        "\n\n",
        "    ",
        "&#",
        "![",
        "<b",
        "[1]: x",
        "---",
        "<http://a.example>",
        "a@b.example",
        "www.a.example",
        "ftp://a.example",
        "mailto:",
        "@",
    ]
)

BARE_ADDRESS = re.compile(r"(?:https?|ftp)://|www\.|[\w.+-]@[\w-]+\.[\w-]", re.IGNORECASE)
"""What GitHub's Markdown makes a link of. It looks for mail addresses after escapes have become characters."""


@given(st.lists(st.one_of(marks, st.text(max_size=4)), max_size=40).map("".join))
def test_no_text_acts(text: str) -> None:
    assert_inert(file_markdown(text, ANCHORS))
    assert_inert(file_markdown(text))
    assert not loads_or_runs(f"- {file_text(text)}")
    assert not links(f"- {file_text(text)}")
    assert not links(f"[{file_text(text)}")
    assert not BARE_ADDRESS.search(file_text(text))


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("<http://a.example>", r"\<http\://a.example>"),
        ("See HTTPS://a.example/x_y", r"See HTTPS\://a.example/x_y"),
        ("ftp://a.example", r"ftp\://a.example"),
        ("www.a.example", r"www\.a.example"),
        ("a.b@c.example", "a.b\u2060@c.example"),
        ("<mailto:a@b.example>", "\\<mailto:a\u2060@b.example>"),
        ("model@test", "model@test"),
        ("Half past 12:30 @ home", "Half past 12:30 @ home"),
    ],
)
def test_address_in_a_title_is_no_link(title: str, written: str) -> None:
    assert file_text(title) == written
    assert not links(f"# {written}")
    assert sanitize(file_text(title).replace("\\", "")) == title


@pytest.mark.parametrize("address", ["a@b.example", "<a@b.example>", "ftp://a.example", "mailto:a@b.example"])
def test_only_web_addresses_stay_links_in_an_answer(address: str) -> None:
    written = file_markdown(f"See {address} and https://c.example/react@18/@me.")
    assert not re.search(r"\w@b|ftp://", written)
    assert written.endswith("https://c.example/react@18/@me.")


@given(
    st.text(st.sampled_from("ab_*~[]()<>&#!|`\\-+.1= "), max_size=30).map(lambda text: " ".join(text.split()))
)
def test_literal_text_is_shown_as_it_is(text: str) -> None:
    rendered = "".join(
        token.content for token in tokens(f"x{file_text(text)}x") if token.type in ("text", "code_inline")
    )
    assert rendered == f"x{text}x"


def test_chat_model_answer_keeps_its_form_and_words() -> None:
    exported = file_markdown(MARKDOWN_ANSWER, ANCHORS, deeper=0)
    before = [token.type for token in READER.parse(MARKDOWN_ANSWER)]
    assert [token.type for token in READER.parse(exported)] == before
    assert "\\" not in exported
    for line in (
        "## What the sources say",
        "- **Siting rules.** The dam must",
        "```python",
        "  - *Transfers* need",
    ):
        assert line in exported
    assert links(exported) == [f"#source-{n}" for n in (1, 2, 1, 2, 2, 3, 2, 2, 1, 2, 3, 1, 2, 3)]


@pytest.mark.parametrize(
    "text",
    [
        "Plain words, 2 * 3 * 4, snake_case, R&D, 5 < 6, ~5 km, $5, 100 % (yes) [no] and #3!",
        "See https://a.example/x_y_z?a=1#b and [the guide](https://a.example/(b)).",
        "1. one\n2. two\n   - in\n   - side",
        "> quoted\n>\n> more",
        "A line\\\nand the next",
        "| a | b |\n| --- | --- |\n| `x \\| y` | **z** |",
    ],
)
def test_what_is_harmless_stays_as_it_was_written(text: str) -> None:
    assert file_markdown(text).replace("<https://a.example/(b)>", "https://a.example/(b)") == text


def test_images_become_links_and_other_addresses_words() -> None:
    assert file_markdown("![A chart](https://a.example/c.png)") == "[A chart](https://a.example/c.png)"
    assert (
        links(file_markdown("[call](tel:123) [mail](mailto:a@b.example) [up](../x) [top](#source-1)")) == []
    )


def test_a_number_that_no_source_has_is_no_link() -> None:
    assert file_markdown("So [1][7].", ANCHORS) == "So [[1]](#source-1)[7]."


def test_a_long_text_is_cut_and_says_so() -> None:
    assert "Cut here" in file_markdown("word " * LIMIT)
    rows = "| a |\n|---|\n" + "| x |\n" * 900
    assert file_markdown(rows).count("| x |") == 900


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["[", "![", "](", "*a_", "> ", "`a", "<a ", "&a;", "[1]", "\\[", "- ", "|a", "_a ", "~a"]
)
@pytest.mark.thorough
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    assert growth(repeated(piece), lambda text: file_markdown(text, ANCHORS), 5_000, 50_000) < LINEAR
