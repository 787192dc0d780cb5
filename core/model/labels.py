"""Labels: the relevance of text ranges to a question."""

from dataclasses import dataclass
from enum import IntEnum

from core.model.passages import Place


class Grade(IntEnum):
    """The relevance of a text. The number is its gain in nDCG."""

    NOT_RELEVANT = 0
    PARTLY = 1
    RELEVANT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The grade of `text`, which was at `place` when it was labelled."""

    place: Place
    digest: str
    """The digest of the page's whole text."""
    text: str
    grade: Grade
