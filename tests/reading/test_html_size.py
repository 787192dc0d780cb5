"""What the tags of a page cost is known before a parser sees them."""

import time
from contextlib import suppress

import pytest

from core.model import Document, Extractor, SkipReason, Unreadable
from core.reading import extract
from core.reading.html.html_parsing import HTML_LIMIT, MAX_DEPTH, MAX_ELEMENTS, MAX_NESTING_AT_ALL, MarkupSize

WORDS = "A paragraph is a group of sentences about one thing, and most readers look at its first sentence. "


def document(html: str) -> Document:
    return Document(
        url="https://example.org/", status=200, media_type="text/html", charset="utf-8", body=html.encode()
    )


def cpu_of(html: str) -> float:
    began = time.thread_time()
    with suppress(Unreadable):
        extract(document(html), Extractor.ACCURATE)
    return time.thread_time() - began


def test_elements_and_what_is_around_them_are_counted() -> None:
    padding = "<br>" * MAX_DEPTH
    size = MarkupSize.of(f"<div><b>x</b><p>y</div><p>z{padding}")
    assert (size.elements, size.depth) == (4 + MAX_DEPTH, 2)
    assert size.nesting == 0 + 1 + 1 + 0
    assert MarkupSize.of("<div><!-- <b><b> --><script><b></script>" + padding).depth == 1


DRAWING = (
    '<svg viewBox="0 0 9 9"><title>A syntax diagram</title><g class="a"><path d="M 0 0 L 9 9" style="fill:none"/>'
    '<polygon points="0,0 9,9 0,9" /><text x="1" y="2">SELECT</text></g></svg>'
)


def test_drawings_are_not_nested() -> None:
    size = MarkupSize.of(DRAWING * MAX_DEPTH)
    assert (size.elements, size.depth) == (6 * MAX_DEPTH, 0)
    page = f"<article><p>{WORDS * 5}</p>{DRAWING * 2 * MAX_DEPTH}</article>"
    assert WORDS.strip() in extract(document(page)).text


@pytest.mark.parametrize(
    "step",
    [
        '<svg><path d="x"></svg>',
        '<svg><path d="/>"></svg>',
        "<svg><path d='\"' e=\"/></svg>",
        "<svg><path d=x/></svg>",
        '<svg/><path d="x"/><svg></svg>',
        '<svg><div><path d="x"/></div></svg>',
        '<svg><title><path d="x"/></title></svg>',
        '<svg><g></svg>',
        '<svg><path d="x"/></g></svg>',
        '<path d="x"/>',
    ],
)  # fmt: skip
def test_a_drawing_that_is_not_well_formed_hides_no_depth(step: str) -> None:
    """Parsers may leave an element of it open: each is counted."""
    with pytest.raises(Unreadable, match="nested"):
        extract(document(step * (MAX_DEPTH + 1)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "bulk",
    [
        DRAWING * 40,
        f"<img src=x srcset='{'https://pictures.example/large.webp 2000w, ' * 200}'>",
        f"<div>{' ' * 900}</div>",
        f"<style>{'.x { color: red } ' * 9_000}</style>",
    ],
)
def test_what_is_never_read_does_not_count_towards_the_limit(bulk: str) -> None:
    page = f"<article>{bulk * (HTML_LIMIT // len(bulk) + 1)}<p>{WORDS * 5}</p></article>"
    article = extract(document(page))
    assert WORDS.strip() in article.text
    assert not article.left_out


@pytest.mark.parametrize("step", ["<div></b>", "<b><div></b>", "<i></p><b></table></u>"])
def test_closing_tags_that_close_nothing_hide_no_depth(step: str) -> None:
    with pytest.raises(Unreadable, match="nested") as caught:
        extract(document(step * (MAX_DEPTH + 1)))
    assert caught.value.reason is SkipReason.BROKEN


def test_page_of_very_many_elements_gets_the_fast_extractor() -> None:
    article = extract(document(f"<article><p>{WORDS * 5}</article>" + "<p>open " * (MAX_ELEMENTS + 1)))
    assert article.extractor == "resiliparse"
    assert article.fallback.startswith("accurate extractor: the page has 30,")
    assert not extract(document(f"<article><p>{WORDS * 5}</article>")).fallback


def test_few_unclosed_tags_around_many_elements_are_not_tried() -> None:
    around = 1_000
    html = "<font size=1>" * around + "<p>x" * (MAX_NESTING_AT_ALL // around)
    with pytest.raises(Unreadable, match="nested up to"):
        extract(document(html))


@pytest.mark.parametrize(
    "opened", ["<p>open ", "<p style='color:white'>open ", "<div>open</div>", "<li>open "]
)
@pytest.mark.slow
def test_unclosed_tags_cost_no_more_than_their_number(opened: str) -> None:
    """Four times the tags: four times the work if that is linear, sixteen if it is quadratic."""
    few = min(cpu_of(opened * 1_500) for _ in range(2))
    assert any(cpu_of(opened * 6_000) < 9 * few for _ in range(3)), (
        "other programs may take their share of a core"
    )


def test_nested_letters_without_size_are_visited_once() -> None:
    inside = "<p style='x:y'>x</p>" * 1_000
    nested = "<div style='font-size:0'><p style='x:y'>x</p>" * 400
    assert cpu_of(nested + inside) < 20 * cpu_of("<div><p style='x:y'>x</p>" * 400 + inside) + 0.5
