"""The blocks of a page are chosen by a score, and the kind of the page is told with its signs."""

import hashlib
from itertools import pairwise

import numpy as np
import pytest

from core.adapters.web.extraction_pool import ExtractionPool
from core.config.knobs import Boundary, ChunkKnobs
from core.model import Article, Document, Extractor, Page
from core.reading import extract
from core.reading.html.block_choice import DIGEST, WEIGHTS, kept
from core.stages.chunk import passages_of

PROSE = "Basalt columns form when thick lava cools slowly and shrinks, and most of them have six sides. "
POSTS = "".join(
    f'<div class="post" id="p{number}"><div class="author"><a href="/u/{number}">stone{number}</a></div>'
    f'<div class="date">March {number + 1}, 2024</div><div class="message-body"><p>Reply {number}: {PROSE * 2}</p></div></div>'
    for number in range(14)
)
THREAD = (
    '<html><head><title>Why six sides? | Rock forum</title><meta name="generator" content="phpBB">'
    '<script type="application/ld+json">{"@type": "DiscussionForumPosting"}</script></head><body>'
    '<div class="nav"><a href="/">Forum index</a> <a href="/login">Login</a></div><h1>Why six sides?</h1>'
    f'{POSTS}<div class="footer">Powered by phpBB. All rights reserved.</div></body></html>'
)


def read(html: str, url: str = "https://rocks.example/viewtopic.php?t=14") -> Article:
    return extract(
        Document(url=url, status=200, media_type="text/html", charset="utf-8", body=html.encode()),
        Extractor.ACCURATE,
    )


def test_thread_keeps_every_post_and_says_what_it_is() -> None:
    article = read(THREAD)
    assert all(f"Reply {number}:" in article.text for number in range(14))
    assert "rights reserved" not in article.text
    assert article.kind == "forum"
    assert article.kind_and_parts == "forum thread, 14 posts"
    assert "forum" in article.kind_reason


@pytest.mark.parametrize(
    "path", ["", "lock", "quay/lock", "north/old/quay/lock", "shore/north/old/quay/stone/lock"]
)
def test_depth_of_an_address_changes_nothing(path: str) -> None:
    page = f"<html><head><title>The lock</title></head><body><main><h1>The lock</h1><p>{PROSE * 4}</p></main></body></html>"
    article, root = read(page, f"https://rocks.example/{path}"), read(page, "https://rocks.example/")
    assert (article.text, article.kind, article.kind_reason) == (root.text, root.kind, root.kind_reason)


def test_sections_of_an_article_keep_their_headings() -> None:
    times = ["Ferries are cancelled", "A bridge is shut", "Trains run again"]
    posts = "".join(
        f"<li><article><header><time>{9 + place}:15</time><h3>{time}</h3></header><p>{time}, as was said. {PROSE}</p></article></li>"
        for place, time in enumerate(times)
    )
    page = (
        '<html><head><title>Storm</title><meta property="og:type" content="article"></head><body><main><h1>Storm</h1>'
        f"<p>{PROSE * 3}</p><ol>{posts}</ol></main></body></html>"
    )
    lines = read(page, "https://rocks.example/news/live/storm-2026").text.split("\n")
    assert [line for line in lines if line in times] == times


CARD = '<div class="card n{n}"><span>New</span><h3><a href="/{n}">{title}</a></h3><p>{summary}</p><p>{n} min</p></div>'
FLAT = '<p class="title"><a href="/{n}">{title}</a>, May {n}</p><p>{summary} It takes {n} minutes, and it is free.</p>'
LINKED = '<li class="entry"><a href="/{n}"><div>Sale</div><div>{title}</div><div>{summary}</div></a></li>'


@pytest.mark.parametrize("item", [CARD, FLAT, LINKED])
@pytest.mark.parametrize("row", [1, 4])
def test_each_item_of_a_listing_is_a_titled_section(item: str, row: int) -> None:
    items = [
        (
            f"Talk {name} about rocks",
            f"In this {name} talk we hear why basalt has columns, from expert {name}.",
        )
        for name in [
            "Amber",
            "Beryl",
            "Coral",
            "Diamond",
            "Emerald",
            "Flint",
            "Garnet",
            "Howlite",
            "Iolite",
            "Jade",
            "Kyanite",
            "Lapis",
        ]
    ]
    cards = [item.format(n=n, title=title, summary=summary) for n, (title, summary) in enumerate(items)]
    rows = "".join(f'<div class="row">{"".join(cards[n : n + row])}</div>' for n in range(0, len(cards), row))
    menu = "".join(f'<li class="menu"><a href="/m{n}">Menu {n}</a></li>' for n in range(20))
    page = (
        '<html><head><script type="application/ld+json">{"@type": "ItemList"}</script></head><body>'
        f"<nav><ul>{menu}</ul></nav><main><h1>All talks</h1><p>{PROSE}</p>{rows}</main></body></html>"
    )
    article = read(page, "https://rocks.example/tags/talks")
    assert article.kind_and_parts == f"{article.kind}, 12 items"
    starts = [start for start, _ in article.sections]
    sections = dict(zip(article.sections, pairwise([*starts, len(article.text)]), strict=True))
    for title, summary in items:
        ((start, end),) = [place for (_, name), place in sections.items() if name.startswith(title)]
        assert [other for _, other in items if other in article.text[start:end]] == [summary]
    passages = passages_of(
        Page(key="k", url="u", title="", article=article), ChunkKnobs(boundary=Boundary.SECTION)
    )
    assert max(sum(summary in passage.text for _, summary in items) for passage in passages) == 1


async def test_the_kind_comes_out_of_the_process_that_reads() -> None:
    document = Document(
        url="https://rocks.example/viewtopic.php?t=14",
        status=200,
        media_type="text/html",
        charset="utf-8",
        body=THREAD.encode(),
    )
    async with ExtractionPool(1) as pool:
        article = await pool(document, Extractor.ACCURATE)
    again = read(THREAD)
    assert (article.kind_and_parts, article.kind_reason) == (again.kind_and_parts, again.kind_reason)


def test_each_item_of_a_list_is_read_with_its_title() -> None:
    items = [
        ("Harbour engineer", "Brunlo", "Plans walls and quays for the northern basin."),
        ("Eel keeper", "Hald", "Counts glass eels in spring, and repairs the ladder."),
        ("Crane driver", "Brunlo", "Drives the old crane on working days."),
        ("Clerk of works", "Kvist", "Keeps the books of three building sites."),
        ("Lock keeper", "Tarn", "Opens the lock three times a day."),
    ]
    cards = "".join(
        f'<li class="job-card"><a href="/jobs/{number}"><h3>{title}</h3></a><p class="meta">{place}</p><p>{text}</p>'
        f'<a class="btn" href="/jobs/{number}">View details</a></li>'
        for number, (title, place, text) in enumerate(items)
    )
    html = (
        f"<html><body><nav><a href=/>Home</a></nav><main><h1>Jobs by the water</h1><ul class=results>{cards}</ul>"
        "<nav class=pagination><a>1</a><a>2</a></nav></main><footer>© 2024 Brunlo</footer></body></html>"
    )
    text = read(html, "https://jobs.example/jobs/").text
    assert all(title in text and about in text for title, _, about in items)
    assert "View details" not in text


def test_the_weights_are_those_that_were_measured() -> None:
    assert hashlib.sha256(WEIGHTS.read_bytes()).hexdigest() == DIGEST
    assert WEIGHTS.stat().st_size <= 500_000


def test_blocks_are_kept_down_to_the_best_expected_f1() -> None:
    words = [["word"] * 20] * 4
    assert kept(np.array([0.9, 0.9, 0.1, 0.05]), words).tolist() == [True, True, False, False]
    assert kept(np.array([0.1, 0.05, 0.02, 0.01]), words).tolist() == [True, False, False, False]


ANSWER = f"<p>Hidden answer. {PROSE * 3}</p>"


def test_openable_text_is_read_and_overlays_are_not() -> None:
    page = '<html><body><article><h1>Basalt</h1>{}<h2>Questions</h2><div class="{}" style="display:none">{}</div></article><script>x</script>'
    opened = read(page.format(f"<p>{PROSE * 9}</p>" * 3, "faq-answer", ANSWER))
    assert "Hidden answer." in opened.text
    over = read(page.format(f"<p>{PROSE * 9}</p>" * 3, "modal faq-answer", ANSWER))
    assert "Hidden answer." not in over.text
    assert "Hidden answer." in over.hidden


START = f"<article><p>{PROSE * 5}</p></article>"
NESTED = "".join(
    f'<div class="post"><b class="author">Ada{n}</b><p>Post {n}: {PROSE}</p>' for n in range(500)
)
CARDS = "".join(
    f'<div class="card"><h3><a href="/{n}">Talk {n}</a></h3><p>{n} min</p></div>' for n in range(4_000)
)


def data(json: str) -> str:
    return f'<script type="application/ld+json">{json}</script>'


BAD = {
    "50,000 comments": START + '<div class="comment"><p>I agree.</p></div>' * 50_000,
    "posts nested 500 deep": START + NESTED + "</div>" * 500,
    "items nested 500 deep": data('{"@type": "ItemList"}')
    + START
    + NESTED.replace("<b", "<h3><a href=/>x</a></h3><b"),
    "4,000 items": data('{"@type": "ItemList"}') + START + CARDS,
    "data of 5 MB": data('{"@type": "Product", "name": "' + "x" * 5_000_000 + '"}') + START,
    "data with cycles": data(
        '{"@graph": [{"@type": "Product", "@id": "#a", "name": {"@id": "#b"}, "offers": {"@id": "#b"}},'
        '{"@id": "#b", "mainEntity": {"@id": "#a"}, "mainEntityOfPage": {"@id": "#b"}}]}'
    )
    + START,
    "names in names": data('{"@type": "Article", "headline": ' + '{"name":' * 900 + '"x"' + "}" * 901)
    + START,
    "10,000 columns": START + "<table>" + f"<tr>{'<td>1</td>' * 10_000}</tr>" * 2 + "</table>",
    "a line of a megabyte": f"<article><p>{PROSE * 5}</p><pre>{'x = 1; ' * 150_000}</pre></article>",
}


@pytest.mark.parametrize("page", BAD)
@pytest.mark.slow
def test_pages_of_extreme_shape_are_read_in_seconds(page: str) -> None:
    article = read(f"<html><body>{BAD[page]}</body></html>", "https://rocks.example/tags/talks")
    assert PROSE.strip() in article.text
    assert article.seconds < 15, "a page at the limits takes two seconds, and other programs have their share"


def test_posts_in_posts_are_all_counted() -> None:
    article = read(f"<html><body>{BAD['posts nested 500 deep']}</body></html>")
    assert article.parts == 500
    assert article.sections[-1][1] == "Ada499"


@pytest.mark.parametrize("element", ["article", "main", "section", "p"])
def test_page_without_a_body_tag_is_read(element: str) -> None:
    """HTML allows it, and libxml2 takes elements that it does not know for a part of the head."""
    sentence = "The tide mill at the mouth of the river ground forty sacks in a night."
    html = f"<!doctype html><title>Mills</title><{element}><h1>Tide mills</h1><p>{sentence}</p></{element}>"
    assert sentence in read(html).text
