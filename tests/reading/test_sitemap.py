"""Sitemaps and feeds as sites write them."""

import pytest

from core.model import Unreadable
from core.reading.sitemap import ADDRESSES, LISTS, read_sitemap

SET = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
ONE, TWO = "https://a.example/1", "https://a.example/?x=1&y=2"
ATOM = 'xmlns="http://www.w3.org/2005/Atom"'


@pytest.mark.parametrize(
    "text",
    [
        f'\n \ufeff <?xml version="1.0"?>{SET}<url><loc>{ONE}</loc></url><url><loc>https://a.example/?x=1&amp;y=2</loc></url></urlset>',
        f"{SET}<url><loc>{ONE}</loc></url><url><loc>{TWO}</loc></url></urlset>",
        f"{SET}<url><loc>{ONE}</loc><title>Caf&eacute; & R&D</title></url><url><loc> <![CDATA[{TWO}]]> </loc></url></urlset>",
        f"<rss><channel><link>https://a.example/</link><item><a:link {ATOM[:5]}:a{ATOM[5:]} href='x'/><link>{ONE}</link></item>"
        f"<item><link>{TWO}</link></item></channel></rss>",
        f'<feed {ATOM}><link href="https://a.example/"/><entry><link href="{ONE}"/><link rel="edit" href="https://a.example/e"/>'
        f'</entry><entry><link rel="alternate" href="{TWO}"/></entry></feed>',
        f"\ufeff{ONE}\n{TWO}\n",
    ],
    ids=["blanks first", "bare ampersand", "entities and CDATA", "RSS", "Atom", "text"],
)
def test_addresses_are_read_in_each_form(text: str) -> None:
    article = read_sitemap(text.encode())
    assert (article.text.split("\n"), article.extractor) == ([ONE, TWO], ADDRESSES)


def test_a_name_of_html_becomes_its_character() -> None:
    text = f"{SET}<url><loc>https://a.example/caf&eacute;</loc></url></urlset>"
    assert read_sitemap(text.encode()).text == "https://a.example/café"


def test_a_list_of_sitemaps_is_known_as_one() -> None:
    text = f"<sitemapindex><sitemap><loc>{ONE}</loc></sitemap></sitemapindex>"
    assert read_sitemap(text.encode()).extractor == LISTS


@pytest.mark.parametrize(
    "text", ["", "<html><body>No</body></html>", f"{SET}<url>", "no address", "<urlset>& </b>"]
)
def test_anything_else_is_no_sitemap(text: str) -> None:
    with pytest.raises(Unreadable, match="sitemap"):
        read_sitemap(text.encode())
