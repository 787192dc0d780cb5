"""Superscripts and subscripts in plain text."""

import pytest

from core.text.superscripts import lowered, raised


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("6", "⁶"),
        ("-12", "⁻¹²"),
        ("−3", "⁻³"),
        ("–3", "⁻³"),
        ("n+1", "ⁿ⁺¹"),
        ("(n)", "⁽ⁿ⁾"),
        ("x", "^x"),
        ("T", "^T"),
        ("0.5", "^0.5"),
        ("2k", "^(2k)"),
        ("ix", "^(ix)"),
        ("1/2", "^(1/2)"),
        ("2ⁿ", "^(2ⁿ)"),
        ("1,2", "¹,²"),
        (" 6 ", "⁶ "),
    ],
)
def test_raised_writes_exponents_apart_from_their_base(text: str, written: str) -> None:
    assert raised(text) == written


@pytest.mark.parametrize(
    "text", ["", " ", "st", "Th", "er", "TM", "†", "°", "⁶", "[3]", "see the annex", "abcd"]
)
def test_raised_keeps_ordinals_marks_and_remarks(text: str) -> None:
    assert raised(text) == text


def test_raised_letter_of_an_ordinal_reads_as_the_letter() -> None:
    assert "XIX" + raised("e") == "XIXᵉ"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2", "₂"),
        ("i+1", "ᵢ₊₁"),
        ("max", "ₘₐₓ"),
        ("b", "_b"),
        ("CO2", "_CO2"),
        ("i,j", "_(i,j)"),
        ("[2]", "[2]"),
        ("in small print", "in small print"),
        ("₂", "₂"),
    ],
)
def test_lowered_writes_indices_apart_from_their_base(text: str, written: str) -> None:
    assert lowered(text) == written
