"""What a body is, from its type and its first bytes."""

import pytest

from core.model import Unreadable
from core.reading.file_types import kind_of, readable_type
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
def test_html_is_known_by_its_first_tag_under_any_name(start: bytes) -> None:
    assert readable_type("text/plain", None, start) == "text/html"


@pytest.mark.parametrize(
    "start", [b"<p>", b"<!-- <html>", b"<!-- --> words <html>", b"<htmlx>", b"<?xml <html"]
)
def test_other_text_is_not_taken_for_html(start: bytes) -> None:
    assert readable_type("text/plain", None, start) == "text/plain"


@pytest.mark.parametrize("piece", [b"<!---->", b"<!-- ", b"<!---->\n", b"<?xml>", b"<?xml ", b"\n", b"-->"])
def test_file_type_is_told_in_linear_time(piece: bytes) -> None:
    """Few bytes, for where the ways to divide them doubled with each piece, a thousand would never end."""
    heads = growth(
        lambda size: piece * (size // len(piece)) + b"<p>",
        lambda head: readable_type("text/plain", None, head),
        60,
        110,
    )
    assert heads < LINEAR


def test_a_stray_nul_makes_no_page_binary() -> None:
    assert readable_type("text/html", None, b"<p>" + b"word " * 100 + b"\x00" + b"word " * 100) == "text/html"


def test_shifts_between_character_sets_make_no_text_binary() -> None:
    head = "마을의 오래된 다리는 강물에 떠내려갔다. ".encode("iso2022_kr") * 9
    assert readable_type("text/plain", None, head) == "text/plain"


def test_bytes_of_a_program_are_no_text() -> None:
    with pytest.raises(Unreadable):
        readable_type("text/plain", None, b"word\x00\x00\x00\x01" * 50)


def test_message_of_outlook_is_refused_with_what_to_do() -> None:
    streams = "__substg1.0_0037001F\0WordDocument".encode("utf-16-le")
    with pytest.raises(Unreadable, match=r"save it as \.eml"):
        kind_of("letter.msg", b"\xd0\xcf\x11\xe0" + bytes(600) + streams)
