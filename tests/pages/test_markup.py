"""HTML of the pages: texts stay texts, whatever they contain."""

import pytest
from htpy import a, p

from core.model.passage_urls import document_url, site
from pages.parts import markup


@pytest.mark.parametrize("tags", ["<b>", "<script>alert(1)</script>", "\" onload='x' <", "&lt;"])
def test_texts_and_attributes_are_escaped(tags: str) -> None:
    html = markup.html(
        p[tags],
        a(title=tags)["x"],
        tags,
        markup.fact(tags, tags, tags),
        markup.link_out("javascript:x", tags),
    )
    escaped = (
        tags.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&#34;")
        .replace("'", "&#39;")
    )
    assert html == (
        f'<p>{escaped}</p><a title="{escaped}">x</a>{escaped}'
        f'<span title="{escaped}"><b>{escaped}</b> {escaped}</span>{escaped}'
    )


def test_characters_that_a_reader_cannot_see_are_removed() -> None:
    assert markup.html(p(title="a\u202eb")["c\u200bd\x00"]) == '<p title="ab">cd</p>'


def test_a_document_without_an_address_is_of_its_data_set_and_has_no_link() -> None:
    url = document_url("handbook", "bm25.md")
    assert site(url) == "handbook"
    assert markup.open_url(url) == ""
