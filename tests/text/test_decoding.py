"""Bytes become the text that their author wrote, and no label can do harm."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.decoding import codec_for, decode
from tests.growth import LINEAR, growth

TEXTS = {
    "windows-1252": "“Straße” – 5 €, naïve café, œuvre",
    "iso-8859-2": "Zażółć gęślą jaźń, příliš žluťoučký kůň",
    "windows-1251": "Съешь же ещё этих мягких французских булок, да выпей чаю",
    "koi8-r": "В чащах юга жил бы цитрус? Да, но фальшивый экземпляр!",
    "windows-1253": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία",
    "windows-1255": "דג סקרן שט בים מאוכזב ולפתע מצא חברה",
    "windows-1256": "نص حكيم له سر قاطع وذو شأن عظيم",
    "shift_jis": "色は匂えど散りぬるを。我が世誰ぞ常ならむ",
    "euc-jp": "有為の奥山今日越えて、浅き夢見じ酔いもせず",
    "gb18030": "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张",
    "big5": "天地玄黃，宇宙洪荒。日月盈昃，辰宿列張",
    "euc-kr": "키스의 고유조건은 입술끼리 만나야 하고",
    "iso-2022-jp": "色は匂えど散りぬるを",
}


@pytest.mark.parametrize("charset", TEXTS)
def test_the_headers_label_is_believed(charset: str) -> None:
    text = TEXTS[charset]
    assert decode(text.encode(charset), charset.upper()) == text


@pytest.mark.parametrize("charset", TEXTS)
def test_label_of_the_page_is_believed_without_a_header(charset: str) -> None:
    page = f'<html><head><meta name=x><meta http-equiv="Content-Type" content="text/html; charset={charset}"><p>{TEXTS[charset]}'
    assert decode(page.encode(charset)) == page
    feed = f'<?xml version="1.0" encoding="{charset}"?><rss>{TEXTS[charset]}</rss>'
    assert decode(feed.encode(charset)) == feed


@pytest.mark.parametrize(
    "charset", ["windows-1251", "koi8-r", "shift_jis", "euc-jp", "gb18030", "big5", "euc-kr"]
)
def test_long_text_without_a_label_is_recognised(charset: str) -> None:
    text = (TEXTS[charset] + ". ") * 30
    assert decode(text.encode(charset)) == text


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_beats_every_label(codec: str) -> None:
    assert decode("Ünïcode".encode(codec), "iso-8859-1") == "Ünïcode"


def test_utf_8_beats_a_wrong_label_and_precedes_guessing() -> None:
    assert decode("日本".encode(), "shift_jis") == "日本"
    assert decode("naïve".encode()) == "naïve"


def test_latin_1_is_read_as_browsers_read_it() -> None:
    assert decode(b"\x93quoted\x94 \x80", "iso-8859-1") == "“quoted” €"


def test_seven_bit_encodings_are_known_by_their_escapes() -> None:
    assert decode("色は匂えど".encode("iso-2022-jp")) == "色は匂えど"
    assert decode("한국어".encode("iso-2022-kr")) == "한국어"


@pytest.mark.parametrize("charset", ["koi8-r", "windows-1251", "cp866"])
def test_short_cyrillic_text_without_a_label_is_not_taken_for_japanese(charset: str) -> None:
    text = "Лоцман измерял глубину гавани каждую неделю, пока не поставили буи."
    assert decode(text.encode(charset)) == text


def test_a_little_damage_does_not_change_the_encoding() -> None:
    page = "Съешь же ещё этих мягких французских булок. " * 20
    body = bytearray(page.encode("utf-8"))
    body[101] = 0xFF
    text = decode(bytes(body), "utf-8")
    assert text.count("\ufffd") <= 3
    assert text.endswith("булок. ")


@pytest.mark.parametrize(
    "label",
    [
        "zlib",
        "rot13",
        "rot_13",
        "base64",
        "hex",
        "bz2",
        "undefined",
        "idna",
        "punycode",
        "unicode_escape",
        "raw_unicode_escape",
        "utf-7",
        "mbcs",
        "charmap",
        "quopri",
        "uu",
        "../../etc",
        "utf-8\x00",
        "",
        "x" * 99,
        "ascii; drop",
        "ÜTF-8",
        "none",
    ],
)
def test_labels_that_are_no_charset_are_ignored(label: str) -> None:
    assert codec_for(label) is None
    assert decode(b"plain \xe2\x82\xac", label) == "plain €"


def test_page_cannot_name_a_wide_encoding_in_narrow_letters() -> None:
    assert decode(b'<meta charset="utf-16"><p>hi') == '<meta charset="utf-16"><p>hi'


@given(
    st.binary(max_size=300), st.sampled_from(["utf-8", "shift_jis", "gb2312", "utf-16", "zlib", "hz", None])
)
def test_any_bytes_become_text(body: bytes, label: str | None) -> None:
    assert isinstance(decode(body, label), str)


def test_every_allowed_codec_exists() -> None:
    for label in TEXTS:
        codec = codec_for(label)
        assert codec is not None
        assert codecs.lookup(codec).name == codec


def test_blanks_in_place_of_a_label_are_read_once() -> None:
    label = growth(lambda size: b"<meta charset=" + b" " * size + b"!", decode, 400, 4_000)
    assert label < LINEAR


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_unmarked_utf_16_markup_is_known_by_its_first_bytes(codec: str) -> None:
    assert decode("<p>naïve</p>".encode(codec)) == "<p>naïve</p>"


def test_nuls_are_left_out() -> None:
    assert decode(b"<p>na\x00\xc3\xafve</p>\x00") == "<p>naïve</p>"
