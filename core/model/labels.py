"""Labels: how relevant a range of a page's text is to a question."""

from dataclasses import dataclass
from enum import IntEnum

from core.model.passages import Place


class Grade(IntEnum):
    """How relevant a text is. The number is its gain in nDCG."""

    NOT_RELEVANT = 0
    PARTLY = 1
    RELEVANT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The grade of `text`, which stood at `place` when it was labelled."""

    place: Place
    digest: str
    """Of the page's whole text."""
    text: str
    grade: Grade
