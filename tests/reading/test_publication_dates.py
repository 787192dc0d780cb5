"""The day of publication is a day that the page writes, and no other number."""

import pytest

from core.model import Document
from core.reading import extract

PROSE = "".join(
    f"<p>{sentence}</p>"
    for sentence in (
        "Basalt columns form when thick lava cools slowly and shrinks.",
        "The cracks run from the surface inwards, at right angles to it.",
        "Most columns have six sides, because that shape releases the most stress for the least crack.",
        "Faster cooling gives thinner columns, so their width records how the flow lost its heat.",
    )
)


def day_of(body: str, head: str = "", url: str = "https://rocks.example/basalt") -> str:
    page = f"<html><head><title>Basalt</title>{head}</head><body><main><h1>Basalt</h1>{body}{PROSE}</main></body></html>"
    document = Document(url=url, status=200, media_type="text/html", charset="utf-8", body=page.encode())
    return extract(document).date


WRITTEN = [
    ("27.04.2021", "2021-04-27"),
    ("27. 4. 2021", "2021-04-27"),
    ("04/27/2021", "2021-04-27"),
    ("2021-04-27 10:30", "2021-04-27"),
    ("Posted 4/27/21", "2021-04-27"),
    ("April 27th, 2021", "2021-04-27"),
    ("Tue, 27 Apr 2021 10:00:00 GMT", "2021-04-27"),
    ("27. April 2021", "2021-04-27"),
    ("27 de abril de 2021", "2021-04-27"),
    ("27 aprile 2021", "2021-04-27"),
    ("le 1er avril 2021", "2021-04-01"),
    ("27 kwietnia 2021", "2021-04-27"),
    ("27 апреля 2021", "2021-04-27"),
    ("发布时间：2021年4月27日", "2021-04-27"),
    ("2021년 4월 27일", "2021-04-27"),
]


@pytest.mark.parametrize(("text", "day"), WRITTEN)
@pytest.mark.parametrize("element", ["<p class=date>{}</p>", "<span>{}</span>"])
def test_a_written_day_is_found(element: str, text: str, day: str) -> None:
    assert day_of(element.format(text)) == day


@pytest.mark.parametrize(
    "text",
    [
        "Version 2026.1",
        "Release 2024.10",
        "v2025.3 (stable)",
        "Part no. 2023-11-4",
        "Build 20240131",
        "Firmware 1.12.2021",
        "Standard 12.2019",
        "Model 2020/12/XL",
        "Address 10.12.20.21",
        "Order 2021/10 of the council",
        "Contract HQ-16-R00012-H-2016-1-002",
        "Spring 2005",
        "© 2015 - 2024 Rock Review",
        "31.02.2021",
        "27.04.1821",
        "27.04.2931",
    ],
)
@pytest.mark.parametrize("element", ["<p class=meta>{}</p>", "<p>{}</p>"])
def test_another_number_is_no_day(element: str, text: str) -> None:
    assert day_of(element.format(text)) == ""


def test_a_title_of_an_abbreviation_may_have_the_day() -> None:
    assert day_of("<abbr class=published title='2011-04-25T00:23:00-04:00'>12:23 AM</abbr>") == "2011-04-25"


def test_a_changed_day_is_not_the_day_of_publication() -> None:
    head = '<meta property="article:modified_time" content="2024-10-13T10:00:00Z">'
    assert day_of("<p class=date>3 May 2021</p>", head) == "2021-05-03"


@pytest.mark.parametrize(
    "url", ["https://rocks.example/journal/2021/04/92713", "https://rocks.example/blog/kelp-2026-1-release"]
)
def test_a_number_in_an_address_is_no_day(url: str) -> None:
    assert day_of("", url=url) == ""


@pytest.mark.parametrize(
    ("declared", "day"),
    [
        ("Thu, 06 May 2021 10:00:00 GMT", "2021-05-06"),
        ("06.05.2021 08:15", "2021-05-06"),
        ("2021-5-6 22:17:36", "2021-05-06"),
        ("May 6, 2021", "2021-05-06"),
        ("20210506", "2021-05-06"),
    ],
)
def test_a_declared_day_may_be_written_in_any_form(declared: str, day: str) -> None:
    linked = f'<script type="application/ld+json">{{"@type": "Article", "headline": "A", "datePublished": "{declared}"}}</script>'
    assert day_of("", f'<meta name="date" content="{declared}">') == day
    assert day_of("", linked) == day


def test_a_declared_text_without_a_day_is_passed_over() -> None:
    head = '<meta name="article:published_time" content="soon"><meta name="date" content="2021-05-06">'
    assert day_of("", head) == "2021-05-06"


def test_the_marked_time_is_preferred_to_the_first_one() -> None:
    other = '<ul><li><a href="/x">Storm</a> <time datetime="2019-02-02">2 Feb 2019</time></li></ul>'
    assert (
        day_of(f'{other}<time itemprop="datePublished" datetime="2023-06-07">7 June</time>') == "2023-06-07"
    )
    assert day_of(f'{other}<span class="dt-published" title="2023-06-07">7 June</span>') == "2023-06-07"


def test_of_several_times_the_one_closest_to_the_heading_counts() -> None:
    def page(above: str, below: str) -> str:
        return extract(
            Document(
                url="https://rocks.example/basalt",
                status=200,
                media_type="text/html",
                charset="utf-8",
                body=f"<html><body>{above}<h1>Basalt</h1>{below}{PROSE}</body></html>".encode(),
            )
        ).date

    own, other = '<time datetime="2023-06-07">7 June</time>', '<time datetime="2019-02-02">2 February</time>'
    between = f"<div>{PROSE}</div>"
    assert page(other + between, own) == "2023-06-07"
    assert page(own, between + other) == "2023-06-07"


@pytest.mark.parametrize(
    ("language", "day"), [("en-US", "2021-05-06"), ("en-GB", "2021-06-05"), ("de", "2021-06-05")]
)
def test_the_language_tells_the_order_of_day_and_month(language: str, day: str) -> None:
    page = f'<html lang="{language}"><body><h1>Basalt</h1><p class=date>05/06/2021</p>{PROSE}</body></html>'
    document = Document(
        url="https://rocks.example/", status=200, media_type="text/html", charset="utf-8", body=page.encode()
    )
    assert extract(document).date == day
