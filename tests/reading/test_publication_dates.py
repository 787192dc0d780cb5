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
