"""What a body is, from its type and its first bytes."""

from __future__ import annotations

import pytest

from core.model import Unreadable
from core.text.media_types import readable_type
from tests.growth import LINEAR, growth


@pytest.mark.parametrize(
    "start",
    [
        b"<html>",
        b"\xef\xbb\xbf\n<!DOCTYPE  html>",
        b" <!-- saved from --> <?xml version='1.0'?>\n<!-- --><HEAD lang=en>",
        b"<!-- <p> --><!----><body>",
    ],
)
def test_html_is_known_by_its_first_tag_whatever_it_is_called(start: bytes) -> None:
    assert readable_type("text/plain", None, start) == "text/html"


def test_a_zero_byte_makes_no_binary_of_a_page_and_of_other_text_it_does() -> None:
    assert (
        readable_type("text/html", None, b"<!doctype html><title>A\x00B</title>" + b"<p>Words." * 20)
        == "text/html"
    )
    for start in (b"Notes \x00 of a day", b"<html>" + b"\x00" * 40):
        with pytest.raises(Unreadable):
            readable_type("text/html", None, start)


@pytest.mark.parametrize(
    "start", [b"<p>", b"<!-- <html>", b"<!-- --> words <html>", b"<htmlx>", b"<?xml <html"]
)
def test_other_text_is_not_taken_for_html(start: bytes) -> None:
    assert readable_type("text/plain", None, start) == "text/plain"


@pytest.mark.parametrize("piece", [b"<!---->", b"<!-- ", b"<!---->\n", b"<?xml>", b"<?xml ", b"\n", b"-->"])
def test_no_first_bytes_take_longer_to_tell_than_their_length(piece: bytes) -> None:
    """Few bytes, for where the ways to divide them doubled with each piece, a thousand would never end."""
    heads = growth(
        lambda size: piece * (size // len(piece)) + b"<p>",
        lambda head: readable_type("text/plain", None, head),
        60,
        110,
    )
    assert heads < LINEAR
