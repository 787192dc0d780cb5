"""Numbers for display."""

from __future__ import annotations


def decimal(value: float, digits: int) -> str:
    """`value` with so many digits after the point, as in "0.25". What rounds to zero has no sign."""
    return f"{value:z.{digits}f}"
