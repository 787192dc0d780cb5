"""Powers of ten as numbers of a text and as words of a search."""

import pytest

from core.text.facts.figures import figures
from core.text.tokenization import words


@pytest.mark.parametrize(
    "text",
    [
        "10⁶ cells",
        "10^6 cells",
        "10**6 cells",
        "1,000,000 cells",
        "one million cells",
        "1 × 10⁶ cells",
        "1e6 cells",
    ],
)
def test_powers_of_ten_are_the_number_that_they_mean(text: str) -> None:
    assert {figure.value for figure in figures(text)} == {"1000000"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 234 × 10⁶", "1234000000"),
        ("1,234,567 × 10³", "1234567000"),
        ("1.5 × 10⁻³ mol", "0.0015"),
        ("2·10^(-3)", "0.002"),
        ("€3 x 10^{5}", "300000"),
        ("106 cells", "106"),
    ],
)
def test_factor_and_sign_of_a_power_count(text: str, value: str) -> None:
    assert {figure.value for figure in figures(text)} == {value}


@pytest.mark.parametrize("text", ["part 1e2a", "10^999", "x10⁶"])
def test_other_words_are_no_power_of_ten(text: str) -> None:
    assert not {figure.value for figure in figures(text)} & {"100", "1000000"}


def test_an_exponent_is_a_word_of_its_own() -> None:
    assert words("10⁶ and 10^6") == ["10", "6", "and", "10", "6"]
    assert words("H₂O on 5 m²") == ["h2o", "on", "5", "m2"]


def test_number_of_a_note_is_a_separate_word() -> None:
    assert words("The mill¹ stands.²") == ["the", "mill", "1", "stands", "2"]
