"""The ranks of the sources under two settings, as lines between two columns of numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import atan2, hypot

from htpy import Element, div, i, span

from core.analysis.rankings.ranking_comparison import RankChange

DEPTH = 20
"""Ranks that are drawn at their height. Sources below them follow in order."""
ROW = 23
"""Pixels of a rank."""
WIDTH = 96
"""Pixels between the columns."""


@dataclass(frozen=True, slots=True)
class _End:
    """A passage on one side: its height, its rank and its number in the context."""

    height: float
    rank: int | None
    number: int | None

    @property
    def text(self) -> str:
        """The number of the source, or its rank outside of the context."""
        return str(self.number or self.rank or "–")


def rank_lines(changes: Sequence[RankChange]) -> Element:
    """Return the drawing. `changes` are the passages of both rankings."""
    drawn = [change for change in changes if change.before_number or change.after_number]
    before = _ends([(change.before, change.before_number) for change in drawn])
    after = _ends([(change.after, change.after_number) for change in drawn])
    rows = max([DEPTH, *(end.height for end in (*before, *after))])
    height = f"{ROW * rows:.0f}"
    return div(".oq-ranks", role="img", aria_label=_words(drawn), style=f"height:{height}px")[
        div(".axis")[_axis()],
        div(".ends.a")[_numbers(drawn, before)],
        div(".lines", style=f"width:{WIDTH}px")[
            (_line(change, *ends) for change, *ends in zip(drawn, before, after, strict=True))
        ],
        div(".ends.b")[_numbers(drawn, after)],
    ]


def _ends(ranks: Sequence[tuple[int | None, int | None]]) -> list[_End]:
    """Return the ends on one side. Ranks below `DEPTH` stand below it, each at a height of its own."""
    low = sorted(
        (rank or 10**9, place) for place, (rank, _) in enumerate(ranks) if (rank or DEPTH + 1) > DEPTH
    )
    heights = {place: DEPTH + 1.5 + number for number, (_, place) in enumerate(low)}
    return [
        _End(heights.get(place, float(rank or 0)), rank, number) for place, (rank, number) in enumerate(ranks)
    ]


def _kind(change: RankChange) -> str:
    return "entered" if change.entered else "left" if change.left else "both"


def _line(change: RankChange, before: _End, after: _End) -> Element:
    fall = ROW * (after.height - before.height)
    turn = f"width:{hypot(WIDTH, fall):.1f}px;rotate:{atan2(fall, WIDTH):.4f}rad"
    return i(class_=_kind(change), style=f"{_top(before.height)};{turn}", title=_title(change))


def _title(change: RankChange) -> str:
    return f"{change.label} ({change.site})" if change.site else change.label


def _numbers(changes: Sequence[RankChange], ends: Sequence[_End]) -> Iterator[Element]:
    taken = {end.height for end in ends}
    for rank in range(1, DEPTH + 1):
        if rank not in taken:
            yield i(style=_top(rank))
    for change, end in zip(changes, ends, strict=True):
        yield span(class_={"in": end.number}, style=_top(end.height), title=_title(change))[end.text]


def _axis() -> Iterator[Element]:
    for rank in (1, *range(5, DEPTH + 1, 5)):
        yield span(style=_top(rank))[str(rank)]


def _top(height: float) -> str:
    return f"top:{ROW * (height - 0.5):.1f}px"


def _words(changes: Sequence[RankChange]) -> str:
    """Return the drawing in words, for those who do not see it."""
    lines = (
        f"{change.label}: {_rank(change.before)} under A, {_rank(change.after)} under B"
        f"{', entered the context' if change.entered else ', left the context' if change.left else ''}"
        for change in changes
    )
    return f"Rank of each source. {'; '.join(lines)}."


def _rank(rank: int | None) -> str:
    return "not ranked" if rank is None else f"rank {rank:,}"
