"""Lists, captions of tables, figures and unknown elements are read as their page shows them."""

import pytest

from core.model import Article, Document, Extractor
from core.reading import extract

SENTENCES = [
    "Basalt columns form when thick lava cools slowly and shrinks.",
    "The cracks run from the surface inwards, at right angles to it.",
    "Most columns have six sides, because that shape releases the most stress for the least crack.",
    "Faster cooling gives thinner columns, so their width records how the flow lost its heat.",
    "At the coast of Antrim some forty thousand of them stand side by side.",
    "Sailors told that a giant had laid them as the beginning of a road to Scotland.",
]
PROSE = "".join(f"<p>{sentence}</p>" for sentence in SENTENCES)
TOOLS = ["Steel tape", "Chalk", "Plumb line", "Notebook"]
ROWS = (
    "<thead><tr><th>Site</th><th>Width</th></tr></thead><tbody><tr><td>Antrim</td><td>41</td></tr>"
    "<tr><td>Staffa</td><td>38</td></tr></tbody>"
)
CAPTION = "Table 2. Mean widths of columns"


def read(body: str, extractor: Extractor = Extractor.ACCURATE) -> Article:
    page = (
        f"<!doctype html><html lang=en><head><title>Basalt columns</title></head><body>{body}</body></html>"
    )
    document = Document(
        url="https://rocks.example/basalt",
        status=200,
        media_type="text/html",
        charset="utf-8",
        body=page.encode(),
    )
    return extract(document, extractor)


@pytest.mark.parametrize("tag", ["ul", "ol"])
@pytest.mark.parametrize(
    "around", ["{}", "<div>{}</div>", "<div class=post>{}</div>", "<section>{}</section>"]
)
@pytest.mark.parametrize("after", ["", PROSE])
def test_a_list_is_read_with_the_paragraph_that_introduces_it(tag: str, around: str, after: str) -> None:
    items = "".join(f"<li>{tool}</li>" for tool in TOOLS)
    body = f"<h1>Basalt columns</h1>{PROSE}<p>Take these things with you:</p><{tag}>{items}</{tag}>{after}"
    text = read(around.format(body)).text
    assert all(tool in text for tool in TOOLS)


@pytest.mark.parametrize("around", ["{}", "<div>{}</div>", "<article>{}</article>"])
@pytest.mark.parametrize("after", ["", PROSE])
def test_a_news_article_keeps_its_lists(around: str, after: str) -> None:
    data = '{"@type": "NewsArticle", "headline": "Basalt columns", "datePublished": "2024-02-03"}'
    items = "".join(f"<li>{tool}</li>" for tool in TOOLS)
    body = f"<h1>Basalt columns</h1>{PROSE}{PROSE}<p>Take these things with you:</p><ul>{items}</ul>{after}"
    article = read(f'<script type="application/ld+json">{data}</script>{around.format(body)}')
    assert "Take these things with you:\n" in article.text.replace("\n\n", "\n")
    assert all(article.text.count(tool) == 1 for tool in TOOLS)
    assert article.text.index("Take these things") < article.text.index(TOOLS[0])


@pytest.mark.parametrize("around", ["<div>{}</div>", "<section>{}</section>", "<article>{}</article>"])
def test_a_list_under_a_heading_beside_the_text_is_read(around: str) -> None:
    items = "".join(f"<li>{tool}</li>" for tool in TOOLS)
    text = read(around.format(f"<h1>Basalt columns</h1>{PROSE}<h2>Tools</h2><ul>{items}</ul>")).text
    assert all(tool in text for tool in TOOLS)


def test_links_to_share_a_page_are_not_read_as_a_list() -> None:
    links = "".join(f"<li><a href=/{name}>{name}</a></li>" for name in ("Mastodon", "Bluesky", "Printer"))
    text = read(f"<div><h1>Basalt columns</h1>{PROSE}{PROSE}<ul>{links}</ul></div>").text
    assert "Mastodon" not in text


@pytest.mark.parametrize("above", ["Related posts:", "You might also like:"])
def test_links_to_other_pages_are_not_read_as_an_introduced_list(above: str) -> None:
    links = "".join(f"<li><a href=/{number}>Volcano {number}</a></li>" for number in range(4))
    text = read(f"<div><h1>Basalt columns</h1>{PROSE}{PROSE}<p>{above}</p><ul>{links}</ul></div>").text
    assert "Volcano 2" not in text


def test_tabs_are_not_read_as_a_list() -> None:
    tabs = "".join(f"<li>{name}</li>" for name in ("Antrim", "Staffa", "Garni"))
    text = read(
        f"<div><h1>Basalt columns</h1>{PROSE}<p>Choose a place:</p><ul role=tablist>{tabs}</ul></div>"
    ).text
    assert "Staffa" not in text


FORMS = {
    "a caption": f"<table><caption>{CAPTION}</caption>{ROWS}</table>",
    "a caption without an end": f"<table><caption>{CAPTION}{ROWS}</table>",
    "a caption with a heading": f"<table><caption><h3>{CAPTION}</h3></caption>{ROWS}</table>",
    "a figure": f"<figure><figcaption><b>Table 2.</b> Mean widths of columns</figcaption><table>{ROWS}</table></figure>",
    "a figure with its caption below": (
        f"<figure class=wp-block-table><table>{ROWS}</table><figcaption>{CAPTION}</figcaption></figure>"
    ),
    "a Turkish capital above": f"<p>İstanbul İzmir</p><table><caption>{CAPTION}</caption>{ROWS}</table>",
    "capitals": f"<TABLE><CAPTION>{CAPTION}</CAPTION>{ROWS}</TABLE>",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("around", ["<article>{}</article>", "<div class=content>{}</div>"])
@pytest.mark.parametrize("extractor", [Extractor.ACCURATE, Extractor.FAST])
def test_a_caption_is_the_first_line_of_its_table(form: str, around: str, extractor: Extractor) -> None:
    article = read(around.format(f"<h1>Basalt columns</h1>{PROSE}{FORMS[form]}{PROSE}"), extractor)
    tables = [article.text[start:end] for start, end, _ in article.structures]
    assert tables == [f"{CAPTION}\nSite: Antrim; Width: 41\nSite: Staffa; Width: 38"]
    assert article.text.count(CAPTION) == 1


@pytest.mark.parametrize(
    "attribute", ['style="display:none"', 'class="visually-hidden"', 'class="table sr-only"']
)
def test_hidden_and_empty_captions_are_no_lines(attribute: str) -> None:
    hidden = f"<table><caption {attribute}>{CAPTION}</caption>{ROWS}</table>"
    empty = f"<table><caption>&nbsp;</caption>{ROWS}</table>"
    article = read(f"<article><h1>Basalt columns</h1>{PROSE}{hidden}{PROSE}{empty}</article>")
    assert CAPTION not in article.text
    first = [article.text[start:end].partition("\n")[0] for start, end, _ in article.structures]
    assert first == ["Site: Antrim; Width: 41"] * 2


def test_the_visible_text_has_captions_of_pictures() -> None:
    figure = f"<figure><img src=/a.png alt=Columns><figcaption>{CAPTION}</figcaption></figure>"
    text = read(f"<article><h1>Basalt columns</h1>{PROSE}{figure}{PROSE}</article>", Extractor.VISIBLE).text
    assert text.count(CAPTION) == 1


@pytest.mark.parametrize("extractor", Extractor)
def test_code_in_a_figure_is_read(extractor: Extractor) -> None:
    code = "def width(flow):\n    return flow.slow * 41"
    figure = f"<figure class=highlight><figcaption>width.py</figcaption><pre>{code}</pre></figure>"
    assert code in read(f"<article><h1>Basalt columns</h1>{PROSE}{figure}{PROSE}</article>", extractor).text


def test_elements_of_a_site_s_own_are_paragraphs() -> None:
    words = "".join(f"<cms-text>{sentence}</cms-text>" for sentence in SENTENCES)
    text = read(f"<app-root><app-article><h1>Basalt</h1>{words}</app-article></app-root>").text
    assert "\n\n".join(SENTENCES) in text


def test_elements_of_a_site_s_own_within_a_line_do_not_break_it() -> None:
    prose = f"<p>{SENTENCES[0]} They have <tool-tip>six sides</tool-tip> in most flows.</p>{PROSE}"
    text = read(f"<article><h1>Basalt columns</h1>{prose}</article>").text
    assert "They have six sides in most flows." in text


@pytest.mark.parametrize("extractor", [Extractor.ACCURATE, Extractor.FAST])
def test_a_list_in_a_cell_of_a_table_with_heads_is_a_part_of_the_table(extractor: Extractor) -> None:
    rows = "".join(
        f"<tr><td>{site}</td><td><ul><li>{rock}</li><li>glass</li></ul></td></tr>"
        for site, rock in (("Antrim", "tholeiite"), ("Staffa", "olivine"))
    )
    table = f"<table><tr><th>Site</th><th>Rocks</th></tr>{rows}</table>"
    article = read(f"<article><h1>Basalt columns</h1>{PROSE}{table}{PROSE}</article>", extractor)
    tables = [article.text[start:end] for start, end, _ in article.structures]
    assert tables == ["Site: Antrim; Rocks: tholeiite glass\nSite: Staffa; Rocks: olivine glass"]
