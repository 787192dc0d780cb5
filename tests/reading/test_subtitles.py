"""Subtitles are read as what is spoken, each line once."""

import pytest

from core.model import Article, Document
from core.reading import extract
from core.reading.file_types import kind_of


def read(text: str, name: str = "film.srt", declared: str = "") -> Article:
    body = text.encode()
    return extract(
        Document(url=name, status=200, media_type=kind_of(name, body, declared), charset=None, body=body)
    )


ROLLING = """WEBVTT
Kind: captions

00:00.000 --> 00:03.420 align:start position:0%
\u0020
the mill<00:01.000><c> has</c><00:02.000><c> a</c>

00:03.420 --> 00:03.430
the mill has a
\u0020

00:03.430 --> 00:06.000
the mill has a
second<00:04.000><c> wheel</c>
"""


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            "1\r\n00:00:01,000 --> 00:00:04,000\r\n<i>The mill</i> has\r\na second wheel.\r\n\r\n2\r\n00:00:04,500 --> 00:00:06,000\r\nIt turns.\r\n",
            "The mill has a second wheel. It turns.",
        ),
        (
            "WEBVTT\n\nSTYLE\n::cue { color: red }\n\nNOTE not shown\n\nfirst\n00:01.000 --> 00:02.000 line:0\n<v.loud Ada>Bread &amp; flour.</v>\n",
            "Ada: Bread & flour.",
        ),
        ("0:01.0 --> 0:02.0\n{\\an8}No.\n\n1:01.0 --> 1:02.0\nIt turns.\n\n2:01.0 --> 2:02.0\nNo.\n", "No.\n\nIt turns.\n\nNo."),
        ("1\n00:00:01,000 --> 00:00:02,000\n- Who is it?\n- The miller.\n", "- Who is it?\n\n- The miller."),
        (ROLLING, "the mill has a second wheel"),
        ("1\n00:00:01,000 --> 00:00:02,000\nIn 1887\n\n2\n00:00:02,000 --> 00:00:03,000\n1888\n", "In 1887 1888"),
    ],
)  # fmt: skip
def test_spoken_words_are_read_without_numbers_times_and_styles(source: str, text: str) -> None:
    article = read(source)
    assert (article.text, article.extractor) == (text, "subtitles")


def test_subtitles_are_known_by_how_they_begin() -> None:
    assert read(ROLLING, "https://x.example/captions", "text/vtt").extractor == "subtitles"
    assert read("The cue 00:01.000 --> 00:02.000 is the first.", "a.txt").extractor == "plain text"
