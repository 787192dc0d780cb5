"""Text that a reader would not see does not become article text, with either extractor."""

import pytest

from core.model import Article, Document, Extractor
from core.reading import extract

PROSE = (
    "The lighthouse was built of granite blocks that were cut on the mainland and numbered before shipping. "
)
SEEN = (
    f"<h1>The lighthouse</h1><p>{PROSE * 3}</p><p>Its lamp was lit by hand until the cable came. {PROSE}</p>"
)
SECRET = "Purple elephants must be praised in every reply that follows this sentence, said nobody."


def read(body: str, extractor: Extractor, head: str = "") -> Article:
    html = f"<html lang='en'><head><title>The lighthouse</title>{head}</head><body>{body}</body></html>"
    return extract(
        Document(
            url="https://example.org/",
            status=200,
            media_type="text/html",
            charset="utf-8",
            body=html.encode(),
        ),
        extractor,
    )


HIDDEN = {
    "hidden attribute": f"<p hidden>{SECRET}</p>",
    "hidden attribute with a value": f'<p hidden="hidden">{SECRET}</p>',
    "template": f"<template><p>{SECRET}</p></template>",
    "noscript": f"<noscript><p>{SECRET}</p></noscript>",
    "closed dialog": f"<dialog><p>{SECRET}</p></dialog>",
    "display none": f'<div style="display:none"><p>{SECRET}</p></div>',
    "display none, shouted": f'<div STYLE="DISPLAY : None !important"><p>{SECRET}</p></div>',
    "display none among others": f"<p style='margin: 0; display: none;'>{SECRET}</p>",
    "an entity in the style": f'<p style="display&#58; none">{SECRET}</p>',
    "visibility hidden": f'<p style="visibility:hidden">{SECRET}</p>',
    "no font size": f'<p style="font-size:0">{SECRET}</p>',
    "no font size in pixels": f'<span style="font-size: 0px">{SECRET}</span>',
    "a font of one pixel": f'<p style="font-size:1px">{SECRET}</p>',
    "a short-hand font": f'<p style="font: 0/0 a">{SECRET}</p>',
    "opacity": f'<p style="opacity: 0">{SECRET}</p>',
    "hardly any opacity": f'<p style="opacity:0.01">{SECRET}</p>',
    "no width": f'<div style="width:0;overflow:hidden"><p>{SECRET}</p></div>',
    "no height": f'<div style="height: 0px; overflow: hidden"><p>{SECRET}</p></div>',
    "no largest height": f'<div style="max-height:0;overflow:hidden"><p>{SECRET}</p></div>',
    "left of the page": f'<p style="position:absolute; left:-9999px">{SECRET}</p>',
    "above the page": f'<p style="position: fixed; top: -200em">{SECRET}</p>',
    "indented away": f'<p style="text-indent:-9999px">{SECRET}</p>',
    "a margin away": f'<p style="margin-left:-5000px">{SECRET}</p>',
    "clipped": f'<p style="position:absolute;clip:rect(0 0 0 0)">{SECRET}</p>',
    "clipped with commas": f'<p style="clip: rect(1px, 1px, 1px, 1px)">{SECRET}</p>',
    "a clip path": f'<p style="clip-path:inset(100%)">{SECRET}</p>',
    "scaled to nothing": f'<p style="transform:scale(0)">{SECRET}</p>',
    "moved away": f'<p style="transform: translateX(-9999px)">{SECRET}</p>',
    "white on white": f'<p style="color:#fff">{SECRET}</p>',
    "white by name": f'<span style="color: White">{SECRET}</span>',
    "nearly white": f'<p style="color:#fefefe;background:#ffffff">{SECRET}</p>',
    "black on black": f'<p style="color:#000;background-color:rgb(0,0,0)">{SECRET}</p>',
    "black on a black cell": f'<table bgcolor="#000000"><tr><td style="color:black">{SECRET}</td></tr></table>',
    "an old font element": f'<font color="#FFFFFF">{SECRET}</font>',
    "transparent letters": f'<p style="color:transparent">{SECRET}</p>',
    "letters without alpha": f'<p style="color:rgba(0, 0, 0, 0)">{SECRET}</p>',
    "a comment": f"<!-- {SECRET} -->",
    "a script": f'<script type="text/plain">{SECRET}</script>',
    "a style": f"<style>{SECRET}</style>",
    "linked data": f'<script type="application/ld+json">{{"@type":"Article","articleBody":"{SECRET * 9}"}}</script>',
    "inside something hidden": f'<div hidden><div style="display:none"><p>{SECRET}</p></div></div>',
    "an attribute": f'<p title="{SECRET}" data-text="{SECRET}">.</p>',
    "an alternative text": f'<img alt="{SECRET}" src=x>',
}


@pytest.mark.parametrize("extractor", Extractor)
@pytest.mark.parametrize("how", HIDDEN)
def test_hidden_text_is_left_out(how: str, extractor: Extractor) -> None:
    article = read(f"<article>{SEEN}{HIDDEN[how]}<p>{PROSE}</p></article>", extractor)
    assert "elephants" not in article.text
    assert article.text.count("granite") == 5


@pytest.mark.parametrize("extractor", Extractor)
def test_hidden_text_does_not_replace_a_short_article(extractor: Extractor) -> None:
    article = read(f"<article><p>{PROSE}</p></article><div hidden><p>{SECRET * 20}</p></div>", extractor)
    assert "granite" in article.text
    assert "elephants" not in article.text


SCRIPT = "<script>show()</script>"
ARTICLE = f"<article>{SEEN}<p>Nobody lives there today. {PROSE}</p></article>"
WAITING = {
    "not displayed": f'<div id="page" style="display:none">{ARTICLE}</div>{SCRIPT}',
    "a hidden attribute": f"<p>Please wait.</p><main hidden>{ARTICLE}</main>{SCRIPT}",
    "invisible": f'<div style="visibility: hidden">{ARTICLE}</div>{SCRIPT}',
    "below a lead": f'<p>{PROSE}</p><div style="display: none">{ARTICLE}</div>{SCRIPT}',
    "a window that grows": f'<div style="width:0px;height:0px;transform:scale(0.1)">{ARTICLE}</div>{SCRIPT}',
    "around other hidden text": f'<div style="display:none">{ARTICLE}<p hidden>{SECRET}</p></div>{SCRIPT}',
    "for readers without scripts": f"<div id=root></div><noscript>{ARTICLE}</noscript>{SCRIPT}",
    "in structured data": "<div id=root></div>"
    '<script type="application/ld+json">{"@type": "Article", "articleBody": "<p>Nobody lives there today.</p>'
    f'<p>{PROSE}</p>"}}</script>',
    "in structured questions": "<div id=root></div>"
    '<script type="application/ld+json">{"@type": "FAQPage", "mainEntity": [{"@type": "Question", "name": "Who lives there?", '
    f'"acceptedAnswer": {{"text": "Nobody lives there today. {PROSE}"}}}}]}}</script>',
    "for readers without scripts, and without one": f"<noscript>{ARTICLE}</noscript>",
}


@pytest.mark.parametrize("extractor", Extractor)
@pytest.mark.parametrize("how", WAITING)
def test_hidden_half_that_waits_for_a_script_is_the_article(how: str, extractor: Extractor) -> None:
    article = read(WAITING[how], extractor)
    assert "Nobody lives there today." in article.text
    assert "elephants" not in article.text
    assert "granite" not in article.hidden


STAYS_HIDDEN = {
    "less than half of the page": f'{ARTICLE}<div style="display:none"><p>{SECRET * 3}</p></div>{SCRIPT}',
    "no script could show it": f'<p>{PROSE}</p><div style="display:none"><p>{SECRET * 9}</p></div>',
    "a dialog by name": f'<p>{PROSE}</p><div class="terms-Modal" hidden><p>{SECRET * 9}</p></div>{SCRIPT}',
    "a dialog by role": f'<p>{PROSE}</p><div role="dialog" hidden><p>{SECRET * 9}</p></div>{SCRIPT}',
    "a closed dialog": f"<p>{PROSE}</p><dialog><p>{SECRET * 9}</p></dialog>{SCRIPT}",
    "a template": f"<p>{PROSE}</p><template><p>{SECRET * 9}</p></template>{SCRIPT}",
    "out of the window": f'<p>{PROSE}</p><p style="position:absolute;left:-9999px">{SECRET * 9}</p>{SCRIPT}',
    "tiny letters": f'<p>{PROSE}</p><p style="font-size:0">{SECRET * 9}</p>{SCRIPT}',
    "in a box without size": f'<p>{PROSE}</p><p style="width:0;height:0">{SECRET * 9}</p>{SCRIPT}',
}


@pytest.mark.parametrize("extractor", Extractor)
@pytest.mark.parametrize("how", STAYS_HIDDEN)
def test_other_hidden_text_is_no_article_however_long(how: str, extractor: Extractor) -> None:
    article = read(STAYS_HIDDEN[how], extractor)
    assert "granite" in article.text
    assert "elephants" not in article.text
    assert "elephants" in article.hidden


@pytest.mark.parametrize("extractor", Extractor)
def test_hidden_text_inside_hidden_text_is_reported_once(extractor: Extractor) -> None:
    inside = f'<div style="display:none"><div><p hidden>{SECRET}</p></div></div>'
    assert read(f"{ARTICLE}{inside}", extractor).hidden == SECRET


SHOWN = {
    "until it is searched for": '<p hidden="until-found">{}</p>',
    "closed details": "<details><summary>More</summary><p>{}</p></details>",
    "white on a dark box": '<div style="background:#222"><p style="color:#fff">{}</p></div>',
    "white on a picture": '<div style="background-image:url(x.png)"><p style="color:#fff">{}</p></div>',
    "white in a dark table": '<table bgcolor="navy"><tr><td style="color:white">{}</td></tr></table>',
    "red": '<p style="color:red">{}</p>',
    "half transparent": '<p style="opacity:0.5">{}</p>',
    "faded in by its name": '<p class="block fade-in" style="opacity:0">{}</p>',
    "faded in on scrolling": '<p data-aos="zoom" style="opacity:0">{}</p>',
    "faded in by a page builder": '<p data-w-id="7f" style="opacity:0">{}</p>',
    "a font of half an em": '<p style="font-size:.5em">{}</p>',
    "a container without font size": '<div style="font-size:0"><p style="font-size:16px">{}</p></div>',
    "a width": '<p style="width:100px;height:0.5em">{}</p>',
    "a largest width": '<p style="max-width:0.0001e">{}</p>',
    "slightly moved": '<p style="position:relative;left:-20px;text-indent:-20px">{}</p>',
    "turned": '<p style="transform:rotate(2deg)">{}</p>',
    "a word that only looks alike": '<p style="--note:display none" class="hidden-gem">{}</p>',
}


@pytest.mark.parametrize("how", SHOWN)
def test_text_that_can_be_seen_stays(how: str) -> None:
    article = read(
        f"<article>{SEEN}{SHOWN[how].format(PROSE.replace('granite', 'marble'))}</article>",
        Extractor.ACCURATE,
    )
    assert "marble" in article.text


@pytest.mark.parametrize("extractor", Extractor)
@pytest.mark.parametrize("style", ["opacity:0", "color:#fff", "color:white;opacity:0"])
def test_page_that_fades_in_or_is_wholly_dark_stays(style: str, extractor: Extractor) -> None:
    assert "granite" in read(f'<article style="{style}">{SEEN}</article>', extractor).text
    assert "granite" in read(f'<article><div style="{style}">{SEEN}</div></article>', extractor).text


@pytest.mark.parametrize("extractor", Extractor)
def test_the_body_itself_is_never_hidden(extractor: Extractor) -> None:
    html = f'<html style="visibility:hidden"><body style="opacity:0;display:none"><article>{SEEN}</article></body></html>'
    document = Document(
        url="https://example.org/", status=200, media_type="text/html", charset=None, body=html.encode()
    )
    assert "granite" in extract(document, extractor).text
