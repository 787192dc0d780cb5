"""The presentation of a knob in controls of a page and in a sweep."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A part of a knob's declaration, read through `Parameter`."""

    step: float = 0.0
    """The step of a number. 0 means 1, or 0.1 for a number with a fraction."""
    unit: str = ""
    """The unit of a number, which stands behind it."""
    labels: Mapping[int | str, str] = field(default_factory=dict, hash=False)
    """Labels of numbers with a special meaning, such as 0 for off, and of options that are written otherwise."""
    sweep: tuple[float, ...] = ()
    """The numbers that a sweep offers, by default the knob's default."""
    common: bool = False
    """Whether it is offered where only the common knobs have room."""
    needs_vectors: bool = False
    """Whether it changes nothing in a run without vectors."""
    orders: bool = False
    """Whether the knob decides the order of passages, or only which of them enter the context."""


PLAIN = Control()
