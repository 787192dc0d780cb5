from __future__ import annotations

import pytest

from core.text.numbers import decimal


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [(-0.001, 2, "0.00"), (-0.0, 3, "0.000"), (-0.006, 2, "-0.01"), (0.25, 3, "0.250"), (12.0, 0, "12")],
)
def test_what_rounds_to_zero_has_no_sign(value: float, digits: int, shown: str) -> None:
    assert decimal(value, digits) == shown
