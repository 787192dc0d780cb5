"""Powers of ten and fractions as numbers of a text, and powers as words of a search."""

import pytest

from core.text.facts.figures import figures
from core.text.facts.named_facts import claimed_facts, named_facts, unsupported_numbers
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


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It took 2½ hours.", "It took 2.5 hours."),
        ("It takes 1/2 cup.", "It takes half a cup."),
        ("It takes ½ cup.", "It takes 0.5 cup."),
        ("Walk 1 1/2 miles.", "Walk 1.5 miles."),
        ("Rated 3/4.", "Rated 3 of 4."),
        ("So say 2/3 of them.", "So say two thirds of them."),
        ("Ein 1/4 fehlt.", "Ein Viertel fehlt."),
        ("Open 24/7 since 1/2/2024.", "Open 24/7 since 1/2/2024."),
        ("It grew by 3¾ million.", "It grew by 3.75 million."),
    ],
)
def test_fraction_is_the_number_that_it_means(claim: str, source: str) -> None:
    assert not unsupported_numbers(claimed_facts(claim), [named_facts(source)])


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It took 2½ hours.", "It took 2 hours."),
        ("So say 2/3 of them.", "So say 3 of 4 of them."),
        ("The key is 123456789012345678901234567890.", "The key is 123456789012345678901234567891."),
    ],
)
def test_fraction_or_digit_that_differs_is_told(claim: str, source: str) -> None:
    assert unsupported_numbers(claimed_facts(claim), [named_facts(source)])
