"""Text, Markdown, JSON, feeds and other XML."""

import json

import pytest

from core.model import Article, Document, SkipReason, Unreadable
from core.reading import extract
from core.reading.article_limits import MAX_STRUCTURES
from core.reading.normalization import MAX_CHARACTERS


def read(body: str, media_type: str, url: str = "https://x.example/a") -> Article:
    return extract(Document(url=url, status=200, media_type=media_type, charset="utf-8", body=body.encode()))


def test_plain_text_keeps_its_lines_and_loses_its_noise() -> None:
    article = read("\ufeffOne  line \r\nand\tanother\x07.\r\n\r\n\r\n\r\nNext.\x0cPage two.  ", "text/plain")
    assert article.text == "One line\nand another.\n\nNext.\n\nPage two."


def test_markdown_title_comes_from_front_matter_or_heading() -> None:
    article = read(
        "---\ntitle: 'Tea'\nauthor: Ada\ndate: 2024-03-05\nlang: en\n---\n# Other\n\nWords.", "text/markdown"
    )
    assert (article.title, article.author, article.date, article.language) == (
        "Tea",
        "Ada",
        "2024-03-05",
        "en",
    )
    assert article.text == "# Other\n\nWords."
    untitled = read("---\ntitle:\nauthor: Jane Doe \n---\nWords.", "text/markdown")
    assert (untitled.title, untitled.author) == ("", "Jane Doe")
    assert (
        read("Intro\n\n## Making **tea** ##\n\nWords.", "text/plain", "https://x.example/a.md").title
        == "Making **tea**"
    )


def test_the_headings_of_markdown_are_its_sections() -> None:
    article = read(
        "Before.\n\n# Tea ##\nWater.\n\n```\n# not a heading\n```\n\nMilk and honey\n---\nSome.\n\n- item\n---\n\n"
        "###### Cups #1\n#hashtag\n",
        "text/markdown",
    )
    assert [(article.text[start:].split("\n")[0], title) for start, title in article.sections] == [
        ("# Tea ##", "Tea"),
        ("Milk and honey", "Milk and honey"),
        ("###### Cups #1", "Cups #1"),
    ]
    assert article.section_at(article.text.index("Before")) == ""
    assert article.section_at(article.text.index("Some.")) == "Milk and honey"


@pytest.mark.parametrize("media_type", ["text/plain", "text/markdown", "application/xml"])
def test_text_that_is_too_long_says_what_is_missing(media_type: str) -> None:
    words = "Words and words.\n\n" * (MAX_CHARACTERS // 18 + 1)
    article = read(f"<a>{words}</a>" if media_type == "application/xml" else words, media_type)
    assert article.left_out == f"only the first {MAX_CHARACTERS:,} characters were read"
    assert 0.9 * MAX_CHARACTERS < len(article.text) <= MAX_CHARACTERS


def test_json_of_too_many_values_says_what_is_missing() -> None:
    article = read(json.dumps([f"value {number}" for number in range(60_000)]), "application/json")
    assert article.left_out == "only the first 50,000 values were read"
    assert read(json.dumps(["one"]), "application/json").left_out == ""


def test_json_becomes_lines_of_path_and_value() -> None:
    value = {
        "title": "Rocks",
        "n": 2,
        "rocks": [{"name": "basalt", "tags": ["dark", "hard"]}, {"name": "chalk"}],
        "no": None,
    }
    article = read(json.dumps(value), "application/json")
    assert article.title == "Rocks"
    assert article.text.splitlines() == [
        "title: Rocks",
        "n: 2",
        "",
        "rocks.name: basalt",
        "rocks.tags: dark",
        "rocks.tags: hard",
        "",
        "rocks.name: chalk",
    ]


@pytest.mark.parametrize("body", ["{", "[" * 100_000, "NaN?", "'single'"])
def test_json_that_is_none_is_refused(body: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(body, "application/json")
    assert caught.value.reason is SkipReason.BROKEN


def test_json_of_lines_is_read_line_by_line() -> None:
    assert (
        read('{"rock": "basalt", "sides": 6}\n\n{"rock": "chalk"}\n', "application/json").text
        == "rock: basalt\nsides: 6\n\nrock: chalk"
    )


def test_a_feed_becomes_its_entries() -> None:
    feed = """<?xml version="1.0" encoding="utf-8"?><rss version="2.0"
    xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>Rock news</title><description>All</description>
    <item><title>Columns</title><description>Short.</description><content:encoded><![CDATA[<p>The long text.</p><p>Its end.</p>]]></content:encoded></item>
    <item><title>Chalk &amp; cheese</title><description>&lt;b&gt;Soft&lt;/b&gt; rock.</description></item></channel></rss>"""
    article = read(feed, "application/xml")
    assert (article.title, article.extractor) == ("Rock news", "feed")
    assert article.text.split("\n\n") == [
        "Columns",
        "The long text.",
        "Its end.",
        "Chalk & cheese",
        "Soft rock.",
    ]


def test_feed_with_undeclared_prefixes_is_read() -> None:
    feed = """<rss version="2.0"><channel><title>Rock news</title><item><title>Basalt</title><media:thumbnail url="a.png"/>
    <content:encoded><![CDATA[<p>It cooled.</p><p>It shrank.</p>]]></content:encoded></item></channel></rss>"""
    article = read(feed, "application/xml")
    assert (article.title, article.extractor) == ("Rock news", "feed")
    assert article.text == "Basalt\n\nIt cooled.\n\nIt shrank."


@pytest.mark.parametrize(
    ("title", "read_as"),
    [
        ("R&D and caf&eacute;s", "R&D and cafés"),
        ("R&amp;amp;D &amp;#8217;26", "R&D ’26"),
        ("<![CDATA[R&D &hellip;]]>", "R&D …"),
        ("One & two", "One & two"),
        ("&unknown; &#x41;", "&unknown; A"),
    ],
)
def test_references_of_feeds_are_read_as_they_are_meant(title: str, read_as: str) -> None:
    feed = f"<rss><channel><title>N</title><item><title>{title}</title></item></channel></rss>"
    assert read(feed, "application/xml").text == read_as


def test_markup_of_a_feed_is_read_once_however_it_is_written() -> None:
    feed = """<feed xmlns="http://www.w3.org/2005/Atom"><title>N</title><entry><title>Mail</title><content type="xhtml">
    <x:div xmlns:x="http://www.w3.org/1999/xhtml"><x:p>From &lt;ada@rocks.example&gt;</x:p><x:p>if a &lt; b</x:p></x:div></content></entry>
    <entry><title>Salt</title><content>&lt;![CDATA[It &lt;b&gt;melts&lt;/b&gt;.]]&gt;</content></entry></feed>"""
    assert read(feed, "application/xml").text.split("\n\n") == [
        "Mail",
        "From <ada@rocks.example>",
        "if a < b",
        "Salt",
        "It melts.",
    ]


def test_text_of_atom_keeps_what_looks_like_a_reference() -> None:
    feed = '<feed><title>N</title><entry><title type="text">Write &amp;amp; here</title></entry></feed>'
    assert read(feed, "application/xml").text == "Write &amp; here"


def test_a_json_feed_becomes_its_entries() -> None:
    items = [
        {"id": "1", "title": "Tides", "content_html": "<p>They turn &amp; go.</p><p>Twice.</p>"},
        {"id": "2", "content_text": "Ponds freeze.", "content_html": "<p>No.</p>"},
        {"id": 3, "title": None, "summary": "Short."},
        "no item",
    ]
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "Water", "items": items}
    article = read(json.dumps(feed), "application/json")
    assert (article.title, article.extractor) == ("Water", "feed")
    assert article.text.split("\n\n") == ["Tides", "They turn & go.", "Twice.", "Ponds freeze.", "Short."]


def test_an_atom_feed_is_one_too() -> None:
    feed = """<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><entry><title>T</title><summary>S</summary></entry></feed>"""
    assert read(feed, "application/xml").text == "T\n\nS"


def test_other_xml_gives_the_text_of_its_elements() -> None:
    assert read("<doc><part>One</part><part>Two <b>bold</b></part></doc>", "application/xml").text.startswith(
        "One\n\nTwo"
    )


def test_entities_are_never_expanded() -> None:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "ha"><!ENTITY file SYSTEM "file:///etc/hostname">{levels}]><x>start &e11; &file; end</x>'
    article = read(bomb, "application/xml")
    assert len(article.text) < 100
    assert "start" in article.text


def test_what_has_no_words_is_empty() -> None:
    for body, media_type in (
        ("  \n ", "text/plain"),
        ("{}", "application/json"),
        ("<x/>", "application/xml"),
    ):
        with pytest.raises(Unreadable) as caught:
            read(body, media_type)
        assert caught.value.reason is SkipReason.EMPTY


def test_markdown_tables_name_their_columns_and_code_is_verbatim() -> None:
    code = "```python\ndef f(x):\n\treturn  (\n        x\n\n\n    )\n```"
    table = "| Model | Price |\n| :--- | ---: |\n| X \\| Y | 12  € |\n| Z | |"
    article = read(f"# Mills\nSome  text:\n{code}\nMore.\n\n{table}\n\na | b", "text/markdown")
    assert article.text == (
        f"# Mills\nSome text:\n\n{code}\n\nMore.\n\nModel: X | Y; Price: 12 €\nModel: Z\n\na | b"
    )
    assert [(kind.value, article.text[start:end]) for start, end, kind in article.structures] == [
        ("code", code),
        ("table", "Model: X | Y; Price: 12 €\nModel: Z"),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        "|" + "a|" * 10_000 + "\n|" + "-|" * 10_000 + "\n" + ("|" + "b|" * 10_000 + "\n") * 9,
        "```\n" + "x" * 1_000_000,
        "a|b\n" + " " * 500_000 + "|x",
        "```\na\n```\n" * 30_000,
    ],
    ids=["10,000 columns", "a line of 1 MB", "no table", "30,000 blocks of code"],
)
def test_markdown_of_any_form_is_read_in_bounded_size(lines: str) -> None:
    article = read(lines, "text/markdown")
    assert len(article.text) <= 2 * len(lines)
    assert len(article.structures) <= MAX_STRUCTURES
    assert article.structures_in_order


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("about 10<sup>6</sup> cells", "about 10⁶ cells"),
        ("3 × 10^5^ litres", "3 × 10⁵ litres"),
        ("10<SUP>-9</SUP> m", "10⁻⁹ m"),
        ("H<sub>2</sub>O and H~2~O", "H₂O and H₂O"),
        ("2^k^ steps", "2^k steps"),
        ("~~gone~~ and ~/notes and ~/more", "~~gone~~ and ~/notes and ~/more"),
        ("x^2+y^2 and a^2b^3", "x^2+y^2 and a^2b^3"),
        ("see[^1][^2]", "see[^1][^2]"),
        ("`10<sup>6</sup>` and $x^2^$", "`10<sup>6</sup>` and $x^2^$"),
        ("```\n10<sup>6</sup>\n```", "```\n10<sup>6</sup>\n```"),
        ("| a | b |\n|---|---|\n| m<sup>2</sup> | 4 |", "a: m²; b: 4"),
    ],
)
def test_markdown_keeps_raised_and_lowered_text_apart(source: str, text: str) -> None:
    assert read(source, "text/markdown").text == text
