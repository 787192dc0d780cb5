"""Rich text files: raised and hidden text, titles and authors."""

import time

import pytest

from tests.reading.test_office import read


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"about 10{\super 6} cells", "about 10⁶ cells"),
        (r"10\super\u8722?\'33\nosupersub  m", "10⁻³ m"),
        (r"H{\sub 2}O", "H₂O"),
        (r"the 5{\super th} day", "the 5th day"),
        (r"10{\up6 4} and 10{\up0 4}", "10⁴ and 104"),
        (r"a \{brace\} stays, and \u26085?\'fc", "a {brace} stays, and 日ü"),
        (r"{\uc2\u8364xx one{\super \u8722xx2}} more", "€ one⁻² more"),
        (r"10{\super {\*\bkmkstart note}6{\*\bkmkend note}} cells", "10⁶ cells"),
        (r"m{\super 2\line 3}He", "m²\n³He"),
        (r"m{\super 2\tab 3}He", "m² ³He"),
        (r"The mill {\deleted burnt}\deleted fell \deleted0 turns", "The mill turns"),
        (r"10{\super \endash 3} m{\super -}", "10⁻³ m⁻"),
    ],
)
def test_rich_text_keeps_raised_and_lowered_text_apart(source: str, text: str) -> None:
    assert read(rf"{{\rtf1\ansi {source}\par}}".encode()).text == text


@pytest.mark.parametrize(
    ("head", "source", "text"),
    [
        (r"\ansicpg1251", r"{\super \'e0\'e1\'e2\'e3\'e4}", "абвгд"),
        (r"\ansicpg1252{\fonttbl{\f1\fnil\fcharset161 Arial Greek;}}", r"e{\f1\super \'f0}", "e^π"),
        (r"\ansicpg1252\deff1{\fonttbl{\f1\fnil\fcharset161 Arial Greek;}}", r"e{\super \'f0}", "e^π"),
        (r"\ansicpg932", r"{\uc2{\super \u27880\'92\'8d\'88\'d3\'96\'7b}}", "^(注意本)"),
        ("", r"{\super \'e9}", "^é"),
    ],
    ids=["of the file", "of the font", "of the default font", "of two bytes", "none"],
)
def test_raised_text_is_read_by_its_code_page(head: str, source: str, text: str) -> None:
    assert read(rf"{{\rtf1\ansi{head} x {source}\par}}".encode()).text == f"x {text}"


def test_title_is_read_by_its_code_page() -> None:
    info = r"\ansicpg1251{\info{\title \'cc\'e8\'f0}}"
    assert read(rf"{{\rtf1\ansi{info} Shown.\par}}".encode()).title == "Мир"


def test_rich_text_has_title_author_and_hidden_text() -> None:
    info = r"{\info{\title Mills of \'c5se}{\author Ada Stone}}"
    article = read(rf"{{\rtf1\ansi {info} Shown.{{\v Not shown.}}\par}}".encode())
    assert (article.text, article.hidden) == ("Shown.", "Not shown.")
    assert (article.title, article.author) == ("Mills of Åse", "Ada Stone")


@pytest.mark.parametrize("end", [r"\rquote ", r"\'C4 \b "], ids=["word", "upper-case code"])
def test_unreadable_title_in_codes_costs_little_time(end: str) -> None:
    info = r"{\info{\title " + r"\u1043?" * 10 + end + "}}"
    began = time.thread_time()
    assert read(rf"{{\rtf1\ansi {info} Shown.\par}}".encode()).text == "Shown."
    assert time.thread_time() - began < 1


def test_title_has_codes_in_both_cases() -> None:
    info = r"{\info{\title \'c5se and \'C5rhus}}"
    assert read(rf"{{\rtf1\ansi {info} Shown.\par}}".encode()).title == "Åse and Århus"
