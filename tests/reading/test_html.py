"""HTML becomes the article that a reader would see, whatever the page is like."""

import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.knobs import Boundary, ChunkKnobs
from core.model import Article, Document, Extractor, Page, SkipReason, Unreadable
from core.reading import extract
from core.reading.file_types import MAIL, MAILBOX
from core.reading.html.html_parsing import HTML_LIMIT, MAX_DEPTH
from core.stages.chunk import passages_of

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = [
    "Basalt columns form when thick lava cools slowly and shrinks.",
    "The cracks run from the surface inwards, at right angles to it.",
    "Most columns have six sides, because that shape releases the most stress for the least crack.",
    "Faster cooling gives thinner columns, so their width records how the flow lost its heat.",
    "At the coast of Antrim some forty thousand of them stand side by side.",
    "Sailors told that a giant had laid them as the beginning of a road to Scotland.",
]
PROSE = " ".join(SENTENCES)
PAGE = f"""<!doctype html><html lang="en-GB"><head><title>Basalt columns | Rock Review</title>
<meta property="og:site_name" content="Rock Review"><meta name="author" content="By Ada Stone">
<meta property="article:published_time" content="2024-03-05T10:00:00Z"></head><body>
<nav><ul><li><a href=/>Home</a></li><li><a href=/rocks>Rocks</a></li><li><a href=/log>Log in</a></li></ul></nav>
<main><article><h1>Basalt columns</h1><p>{" ".join(SENTENCES[:3])}</p><h2>Width</h2><p>{" ".join(SENTENCES[3:])}</p>
<ul><li>Six sides are common in slow flows</li><li>Five sides are common in fast flows</li></ul></article></main>
<aside><p>Read more about <a href=/a>granite</a> and <a href=/b>marble</a> in our shop.</p></aside>
<footer><p>Copyright Rock Review. All rights reserved.</p></footer></body></html>"""


def read(
    html: str | bytes, extractor: Extractor = Extractor.ACCURATE, charset: str | None = "utf-8"
) -> Article:
    body = html.encode() if isinstance(html, str) else html
    return extract(
        Document(
            url="https://rocks.example/basalt", status=200, media_type="text/html", charset=charset, body=body
        ),
        extractor,
    )


def test_the_visible_extractor_keeps_all_that_a_reader_sees() -> None:
    article = read(PAGE, Extractor.VISIBLE)
    assert all(sentence in article.text for sentence in SENTENCES)
    assert all(word in article.text for word in ("Home", "rights reserved"))
    assert article.extractor == "visible text"


@pytest.mark.parametrize("extractor", [Extractor.ACCURATE, Extractor.FAST])
def test_article_comes_without_page_furniture_and_with_its_facts(extractor: Extractor) -> None:
    article = read(PAGE, extractor)
    assert all(sentence in article.text for sentence in SENTENCES)
    assert not any(word in article.text for word in ("Home", "granite", "rights reserved"))
    assert (article.title, article.author, article.date) == ("Basalt columns", "Ada Stone", "2024-03-05")
    assert (article.site, article.language) == ("Rock Review", "en")
    assert article.seconds > 0
    assert (
        article.extractor
        in {"accurate": ("trafilatura", "scored blocks"), "fast": ("resiliparse",)}[extractor]
    )


def test_article_found_as_only_its_lead_is_sought_again() -> None:
    rest = [f"{sentence} Edition {number}." for number in range(8) for sentence in SENTENCES]
    paragraphs = "".join(f"<p>{sentence} {sentence}</p>" for sentence in rest)
    lead = f"<article><p>{SENTENCES[0]} {SENTENCES[1] * 3}</p></article>"
    article = read(f"<html><body>{lead}<div class='rest'>{paragraphs}</div></body></html>")
    assert all(sentence in article.text for sentence in rest)


def test_lead_whose_rest_looks_like_furniture_is_sought_again() -> None:
    """Precision drops boxes with a border; nothing is in paragraphs, and the lead alone is long enough for an article."""
    boxes = "".join(f'<div style="border:1px solid">Box {number}. {PROSE}</div>' for number in range(14))
    lead = "".join(f"<p>Lead {number}. {PROSE}</p>" for number in range(3))
    text = read(f"<html><body><article><h1>Basalt</h1>{lead}{boxes}</article></body></html>").text
    assert all(f"Box {number}." in text for number in range(14))
    assert all(f"Lead {number}." in text for number in range(3))


@pytest.mark.parametrize("extractor", Extractor)
def test_a_stray_nul_ends_nothing(extractor: Extractor) -> None:
    article = read(PAGE.replace("<main>", "\x00<main>").replace("lava cools", "lava\x00 cools"), extractor)
    assert all(sentence in article.text for sentence in SENTENCES)


DATED = {
    "a byline in words": (
        f"<article><h1>Basalt</h1><div>Updated May 7, 2021</div><p>{PROSE}</p></article>",
        "2021-05-07",
    ),
    "a paragraph among others": (f"<article><p>Antrim, 7.5.2021</p><p>{PROSE}</p></article>", "2021-05-07"),
    "no date of another page": (
        f"<nav>3 April 2024: granite</nav><article><p>Antrim, 7 May 2021</p><p>{PROSE}</p></article><footer>2/2/2022</footer>",
        "2021-05-07",
    ),
    "published rather than changed": (
        '<meta property="article:published_time" content="2021-05-07T08:00:00Z"><script type="application/ld+json">'
        f'{{"@type": "Article", "headline": "A", "datePublished": "2021-06-01"}}</script><p>{PROSE}</p>',
        "2021-05-07",
    ),
}


@pytest.mark.parametrize("how", DATED)
def test_the_day_of_publication_is_found(how: str) -> None:
    html, day = DATED[how]
    assert read(f"<html><head><title>Basalt</title></head><body>{html}</body></html>").date == day


def test_year_of_a_copyright_notice_is_no_publication_date() -> None:
    html = f"<article><p>{PROSE}</p><p>© 2019 Rock Review</p><div data-build='2021-03-04'></div></article>"
    assert read(f"<html><head><title>Basalt</title></head><body>{html}</body></html>").date == ""


@pytest.mark.parametrize("extractor", Extractor)
def test_an_address_may_tell_the_day(extractor: Extractor) -> None:
    url = "https://rocks.example/2021/5/07/basalt.html"
    body = f"<article><p>{PROSE}</p></article>".encode()
    document = Document(url=url, status=200, media_type="text/html", charset="utf-8", body=body)
    assert extract(document, extractor).date == "2021-05-07"


SIGNED = {
    "a card of WordPress": (
        '<meta name="twitter:label1" content="Verfasst von"><meta name="twitter:data1" content="Ada Stone">',
        "",
    ),
    "another label of such a card": (
        '<meta name="twitter:label1" content="Lesedauer"><meta name="twitter:data1" content="3 Minuten">',
        '<span class="author">Ada Stone</span>',
    ),
    "a byline where the site is declared": (
        '<meta name="author" content="Rock Review"><meta property="og:site_name" content="Rock Review">',
        '<div class="byline">By <a rel="author" href="/ada">Ada Stone</a></div>',
    ),
    "a byline where the host is declared": (
        '<meta name="author" content="rocks.example">',
        '<p class="author-name">Ada Stone</p>',
    ),
}


@pytest.mark.parametrize("how", SIGNED)
def test_the_author_is_found(how: str) -> None:
    head, byline = SIGNED[how]
    page = f"<html><head>{head}</head><body><article><h1>Basalt</h1>{byline}<p>{PROSE}</p></article></body></html>"
    assert read(page).author == "Ada Stone"


def test_a_site_is_the_author_where_nobody_signed() -> None:
    head = '<meta name="author" content="Rock Review"><meta property="og:site_name" content="Rock Review">'
    assert read(f"<html><head>{head}</head><body><p>{PROSE}</p></body></html>").author == "Rock Review"


def test_paragraphs_stand_apart_and_rows_together() -> None:
    assert f"{SENTENCES[2]}\n\n" in read(PAGE, Extractor.FAST).text
    text = read(PAGE, Extractor.ACCURATE).text
    assert f"{SENTENCES[2]}\n\n" in text
    assert "slow flows\n" in text
    assert "slow flows\n\n" not in text


@pytest.mark.parametrize("extractor", Extractor)
def test_text_is_nfc_without_control_characters(extractor: Extractor) -> None:
    decomposed = unicodedata.normalize("NFD", "Zoë façade naïveté. ")
    text = read(f"<article><p>{decomposed * 20}&#2;&#x202a;\x07\r\nend{PROSE}</p></article>", extractor).text
    assert "Zoë façade naïveté." in text
    assert unicodedata.is_normalized("NFC", text)
    assert not any(unicodedata.category(char) == "Cc" and char != "\n" for char in text)


def test_long_article_cut_by_one_extractor_comes_whole() -> None:
    """The shape of a news site that breaks its articles into several sections with advertisements between."""
    part = "".join(f"<p>Part {{0}}, paragraph {number}. {PROSE}</p>" for number in range(4))
    sections = "".join(
        f'<div class="grid"><div class="article-body">{part.format(name)}</div></div><aside>Advertisement</aside>'
        for name in ("one", "two", "three", "four")
    )
    article = read(f"<html><body><main><h1>Basalt</h1>{sections}</main></body></html>")
    assert "Part one, paragraph 0" in article.text
    assert "Part four, paragraph 3" in article.text


def test_page_without_an_article_is_read_as_visible_text() -> None:
    cells = "".join(f"<tr><td>Station {number}</td><td>{number * 7} m</td></tr>" for number in range(30))
    text = read(f"<html><body><form><table>{cells}</table></form><script>var x</script></body></html>").text
    assert "Station 29" in text
    assert "var x" not in text


@pytest.mark.parametrize("extractor", Extractor)
@pytest.mark.parametrize(
    "start",
    ["<div>" * 400, "<b><i><font>" * 150, "<table><tr><td>" * 100],
    ids=["divs", "unclosed", "tables"],
)
def test_deep_but_honest_pages_are_read(start: str, extractor: Extractor) -> None:
    assert SENTENCES[-1] in read(f"<html><body>{start}<p>{PROSE}</p><p>{PROSE}</p>", extractor).text


@pytest.mark.parametrize("extractor", Extractor)
@pytest.mark.parametrize("tag", ["div", "b", "x-y", "svg", "ul", "DIV", "object", "a"])
def test_absurd_nesting_is_refused_at_once(tag: str, extractor: Extractor) -> None:
    with pytest.raises(Unreadable) as caught:
        read(f"<{tag}>" * 50_000 + PROSE, extractor)
    assert caught.value.reason is SkipReason.BROKEN
    assert f"{MAX_DEPTH:,}" in caught.value.detail


def test_markup_inside_scripts_and_comments_is_not_nesting() -> None:
    noise = f"<script>{'<div>' * 9_000}</script><!-- {'<div>' * 9_000} --><style>{'<b>' * 2_000}</style>"
    assert SENTENCES[0] in read(f"<html><body>{noise}<p>{PROSE}</p>").text


@pytest.mark.parametrize("extractor", Extractor)
@pytest.mark.slow
def test_what_follows_the_limit_is_cut(extractor: Extractor) -> None:
    filler = f"<p>{PROSE}</p>" * (HTML_LIMIT // len(PROSE) + 10)
    article = read(f"<html><body><article>{filler}<p>The very last words.</p></article>", extractor)
    assert SENTENCES[0] in article.text
    assert "very last words" not in article.text
    assert article.left_out == f"only the first {HTML_LIMIT:,} characters were read"


@pytest.mark.parametrize(
    "html",
    [
        "<!--" * 200_000,
        "<script>" * 100_000,
        '<script type="application/ld+json">' * 30_000,
        "<title>" * 100_000,
        "<p class='author'" * 60_000,
        "<meta" * 200_000,
        "<noscript" * 100_000,
        "style='" * 150_000,
    ],
    ids=lambda html: html[:12],
)
@pytest.mark.thorough
def test_openings_without_end_cost_no_quadratic_time(html: str) -> None:
    """Linear work takes well under a second; quadratic work on a megabyte takes minutes."""
    try:
        article = read(html, Extractor.FAST)
    except Unreadable:
        return
    assert article.seconds < 5


@given(
    st.binary(max_size=400),
    st.sampled_from(
        ["text/html", "text/plain", "text/markdown", "application/json", "application/xml", MAIL, MAILBOX]
    ),
)
def test_any_bytes_are_read_or_refused(body: bytes, media_type: str) -> None:
    document = Document(url="https://x.example/", status=200, media_type=media_type, charset=None, body=body)
    for extractor in Extractor:
        try:
            article = extract(document, extractor)
        except Unreadable:
            continue
        article.text.encode()
        assert unicodedata.is_normalized("NFC", article.text)


def test_a_type_that_nobody_reads_is_refused() -> None:
    with pytest.raises(Unreadable) as caught:
        extract(
            Document(url="https://x.example/", status=200, media_type="image/png", charset=None, body=b"x")
        )
    assert (caught.value.reason, caught.value.detail) == (SkipReason.UNSUPPORTED, "image/png")


class TestFacts:
    def test_linked_data_comes_first(self) -> None:
        data = """{"@context": "https://schema.org", "@graph": [{"@type": "WebSite", "name": "R"}, {"@type": ["NewsArticle"],
        "headline": "On &quot;basalt&quot;", "author": [{"name": "Ada Stone"}, {"name": "Bo Reef"}],
        "datePublished": "2023-11-02T08:00:00+01:00", "publisher": {"name": "Rock Review"}}]}"""
        article = read(f'<script type="application/ld+json">{data}</script><title>x</title><p>{PROSE}</p>')
        assert article.title == 'On "basalt"'
        assert article.author == "Ada Stone, Bo Reef"
        assert (article.date, article.site) == ("2023-11-02", "Rock Review")

    def test_site_name_at_the_end_of_a_title_is_dropped(self) -> None:
        page = f'<title>Columns - Rock Review</title><meta property="og:site_name" content="Rock Review"><p>{PROSE}</p>'
        assert read(page).title == "Columns"

    def test_byline_and_time_element_serve_without_metadata(self) -> None:
        page = f'<h1>Columns</h1><p class="byline">By <a href=/ada>Ada Stone</a></p><time datetime="2022-07-09">then</time><p>{PROSE}</p>'
        article = read(page, Extractor.FAST)
        assert (article.author, article.date) == ("Ada Stone", "2022-07-09")

    def test_titles_are_one_line_and_not_too_long(self) -> None:
        article = read(f"<title>a\n\n{'long ' * 400}\x00</title><p>{PROSE}</p>")
        assert "\n" not in article.title
        assert len(article.title) <= 300

    def test_language_is_recognised_where_the_page_states_none(self) -> None:
        german = "Die Säulen entstehen, wenn dicke Lava langsam abkühlt und dabei schrumpft. "
        assert read(f"<p>{german * 8}</p>").language == "de"

    def test_contradicted_declared_language_is_named_beside_the_detected(self) -> None:
        article = read(f"<html lang='pt-BR'><p>{PROSE}</p>")
        assert (article.language, article.declared_language) == ("en", "pt")
        article = read(f"<html lang='en-GB'><p>{PROSE}</p>")
        assert (article.language, article.declared_language) == ("en", "")

    def test_linked_data_may_be_in_a_comment_and_end_lists_by_a_comma(self) -> None:
        data = """//<![CDATA[
        {"@type": "NewsArticle", "datePublished": "2023-11-02", "author": [{"name": "Ada Stone"}, ],}
        //]]>"""
        page = (
            f'<script type="application/ld+json">{data}</script><nav><a href=/>Home</a></nav><p>{PROSE}</p>'
        )
        assert (read(page).author, read(page).date) == ("Ada Stone", "2023-11-02")

    def test_script_that_speaks_of_authors_is_no_byline(self) -> None:
        page = f'<script>show("author", a => a.name)</script><a href=/>Home</a><p>{PROSE}</p>'
        assert read(page, Extractor.FAST).author == ""

    @pytest.mark.parametrize(
        ("declared", "shown", "title"),
        [
            ("Salt &amp;amp; Co&amp;#39;s", "Salt &amp; Co's", "Salt & Co's"),
            ("What &amp;amp; is", "What &amp;amp; is", "What &amp; is"),
        ],
    )
    def test_title_that_was_escaped_twice_is_read_as_shown(
        self, declared: str, shown: str, title: str
    ) -> None:
        page = f'<title>{shown}</title><meta property="og:title" content="{declared}"><p>{PROSE}</p>'
        assert read(page).title == title

    def test_broken_linked_data_is_ignored(self) -> None:
        page = f'<script type="application/ld+json">{{"@type": "Article", "headline": [[[[</script><title>Columns</title><p>{PROSE}</p>'
        assert read(page).title == "Columns"


def test_text_of_the_body_itself_is_read_with_its_links() -> None:
    first, second = SENTENCES[0], SENTENCES[1]
    page = f"<body>{first} <a href=/a>They</a> say so.<p>{PROSE}</p>{second}<br>It is old.<p>{PROSE}</p>"
    text = read(page).text
    assert text.startswith(f"{first} They say so.\n\n")
    assert f"\n\n{second}\nIt is old.\n\n" in text.replace("\n\nIt is old", "\nIt is old")


def test_dates_are_found_without_calling_dateparser() -> None:
    program = """
import sys
from lxml import html
from core.reading.html.publication_date import publication_date

page = html.document_fromstring("<article><p class=date>le 5 de març de 2024</p><p>Text.</p></article>")
publication_date(page)
print("dateparser" in sys.modules)
"""
    output = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert output.stdout.split() == ["False"]


@pytest.mark.parametrize("extractor", Extractor)
def test_tables_and_code_of_a_page_are_written_and_placed(extractor: Extractor) -> None:
    code = 'def width(flow):\n    if flow.slow:\n        return {\n            "sides": 6,\n        }\n\n    return None'
    html = (
        f"<html><body><article><h1>Columns</h1><p>{PROSE}</p><table><thead><tr><th rowspan=2>Model<th colspan=2>Price"
        "<tr><th>EUR<th>USD</thead><tr><td rowspan=2>Alpha<td>12 €<td>13 $<tr><td>22 €<td>23 $</table>"
        f"<h2>Code</h2><pre><code>{code}</code></pre><p>{PROSE}</p>"
        f"<table><tr><td>Weight<td>12 kg<tr><td>Colour<td>red</table><p>{PROSE}</p>"
        "<table><tr><td><h3>News</h3><p>Layout, no data.</p><td><p>More of it here.</p><tr><td>a<td>b</table></article>"
    )
    article = read(html, extractor)
    assert [(kind.value, article.text[start:end]) for start, end, kind in article.structures] == [
        (
            "table",
            "Model: Alpha; Price EUR: 12 €; Price USD: 13 $\nModel: Alpha; Price EUR: 22 €; Price USD: 23 $",
        ),
        ("code", code),
        ("table", "Weight | 12 kg\nColour | red"),
    ]
    assert article.text.count("12 €") == article.text.count("return None") == article.text.count("}") == 1
    assert [article.text[start : start + len(words)] for start, words in article.sections] == [
        words for _, words in article.sections
    ]


def test_inline_tables_and_hidden_cells_keep_the_rest() -> None:
    item = "git clone the repository, cmake -D BUILD=1 -B release, cmake --build release --config Release"
    listed = "<ol><li>Run this:<pre>" + item.replace(", ", "\n") + f"</pre>and wait.</li></ol><p>{PROSE}</p>"
    article = read(f"<html><body><article><h1>Columns</h1><p>{PROSE}</p>{listed}</article>")
    ((start, end, kind),) = article.structures
    assert (kind.value, article.text[start:end]) == ("code", item.replace(", ", "\n"))
    assert article.text.count("cmake --build") == 1 and "and wait." in article.text[end:]
    rows = (
        "<tr><th>Model<th>Price<th>Note"
        + "<tr><td>Alpha<td>12 €<td style='display:none'>send the key<td>Fine" * 3
    )
    for extractor in Extractor:
        text = read(
            f"<html><body><article><p>{PROSE}</p><table>{rows}</table><p>{PROSE}</p></article>", extractor
        ).text
        assert "Model: Alpha; Price: 12 €; Note: Fine" in text and "send the key" not in text


@pytest.mark.parametrize(
    "part",
    [
        "<table>" + ("<tr>" + "<td>7 km" * 10_000) * 2 + "</table>",
        f"<pre>{'x = 1; ' * 150_000}</pre>",
        "<table><tr><th colspan=999999>A<th rowspan=65534 colspan=1000>B" + "<tr><td rowspan=-4>c<td colspan=1e9>d" * 2_000,
        "<table><tr>" + f"<td rowspan=9999 colspan=900>{'long ' * 39}" * 20 + "<tr><td>x" * 3_000,
        "<table><tr><td>a<td>b" * 120 + "</table>" * 120,
        "<pre>one two\n" * 1_000,
        "<table><tr><td>1 2 3 4<td>5</table>" * 2_000,
    ],
    ids=["wide", "one line", "spans", "repeats", "nested", "open", "many"],
)  # fmt: skip
@pytest.mark.thorough
def test_absurd_tables_and_code_cost_little(part: str) -> None:
    for extractor in Extractor:
        article = read(f"<html><body><article><p>{PROSE}</p>{part}", extractor)
        assert article.structures_in_order
        assert len(article.text) < 2_500_000
        assert article.seconds < 30


def thread(*posts: tuple[str, str, str]) -> str:
    return "<html><body><main><h1>Columns</h1>" + "".join(
        f'<div itemscope itemtype="https://schema.org/Comment"><div class="post-head"><span itemprop="author"><b>A</b>'
        f'<a>{author}</a></span><time datetime="{day}T10:00:00Z">then</time></div>'
        f'<div class="post"><p>{text}</p><p>{PROSE}</p></div></div>'
        for author, day, text in posts
    )


@pytest.mark.parametrize("extractor", Extractor)
def test_post_of_a_thread_is_a_section_with_author_and_date(extractor: Extractor) -> None:
    posts = [
        ("Ada", "2024-03-05", "Why do the columns have six sides and never four?"),
        ("Ben", "2024-03-06", "Because six sides release the most stress of all shapes."),
        ("Ada", "2024-03-07", "Thank you, that is what I wanted to know about them."),
    ]
    article = read(thread(*posts), extractor)
    sections = [(name, article.text[start:]) for start, name in article.sections if "," in name]
    assert [name for name, _ in sections] == [f"{author}, {day}" for author, day, _ in posts]
    assert all(rest.startswith(text) for (_, rest), (*_, text) in zip(sections, posts, strict=True))
    page = Page(key="k", url="u", title="", article=article)
    passages = passages_of(page, ChunkKnobs(boundary=Boundary.SECTION, size=2_000))
    assert [
        sum(text in passage.text for *_, text in posts) for passage in passages if "sides" in passage.text
    ] == [1] * 3


def test_very_many_posts_and_posts_in_posts_are_read() -> None:
    many = "".join(
        f"<li class=comment><b class=author>Ada</b><p>Comment number {n} is here." for n in range(25_000)
    )
    deep = "<div class=comment><b class=author>Ada</b><p>This is a comment on a comment.</p>" * 500
    for part in (many, deep):
        article = read(f"<html><body><article><p>{PROSE}</p>{part}")
        assert article.text and article.seconds < 30


@pytest.mark.parametrize("site", ["Rock Review", "rockreview.example", "RockReview"])
@pytest.mark.parametrize("divider", [" | ", " – ", " - ", " · "])
def test_a_title_comes_without_the_name_of_its_host(site: str, divider: str) -> None:
    titles = f"Columns and their widths{divider}{site}", f"{site}{divider}Columns and their widths"
    for title in titles:
        assert title_of(title) == "Columns and their widths"


def title_of(title: str) -> str:
    page = f"<head><title>{title}</title></head><body><h1>Basalt</h1><p>{PROSE}</p></body>"
    document = Document(
        url="https://www.rockreview.example/a",
        status=200,
        media_type="text/html",
        charset="utf-8",
        body=page.encode(),
    )
    return extract(document).title


def test_an_author_may_be_given_by_parts_of_the_name() -> None:
    author = '{"@type": "Person", "givenName": "Ada", "familyName": "Stone"}'
    data = f'{{"@type": "Article", "headline": "Basalt", "author": [{author}, {{"name": "Ida Flint"}}]}}'
    page = f'<head><script type="application/ld+json">{data}</script></head><body><p>{PROSE}</p></body>'
    assert read(page).author == "Ada Stone, Ida Flint"
