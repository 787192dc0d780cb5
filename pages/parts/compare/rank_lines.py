"""The ranks of the sources under two settings, as lines between two columns of numbers."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import atan2, hypot

from htpy import Element, div, i, span

from core.analysis.rankings.ranking_comparison import RankChange
from pages.parts import markup

DEPTH = 20
"""Ranks that are drawn at their height. Sources below them follow in order."""
ROW = 23
"""Pixels of a rank."""
WIDTH = 96
"""Pixels between the columns."""
KINDS = (
    ("both", "in both contexts"),
    ("left", "left"),
    ("entered", "entered"),
    ("neither", "in neither context"),
)
RELEVANT = ("relevant", "has relevant text")


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


def rank_lines(
    changes: Sequence[RankChange],
    names: tuple[str, str] = ("A", "B"),
    *,
    relevant: Collection[str] = (),
    labelled: bool = False,
) -> Sequence[Element]:
    """Return the drawing and its legend. `changes` are the passages of both rankings.

    Passages of a context are drawn, and those whose ids are `relevant`, with thick lines. `names` are those of the
    rankings for a person who does not see the drawing. `labelled`: the beginning of each passage stands beside it.
    """
    drawn = [
        change for change in changes if change.before_number or change.after_number or change.id in relevant
    ]
    before = _ends([(change.before, change.before_number) for change in drawn])
    after = _ends([(change.after, change.after_number) for change in drawn])
    rows = max([DEPTH, *(end.height for end in (*before, *after))])
    height, words = f"{ROW * rows:.0f}", _words(drawn, names)
    drawing = div(
        class_=["oq-ranks", {"labelled": labelled}],
        role="img",
        aria_label=words,
        style=f"height:{height}px",
    )[
        div(".axis")[_axis()],
        labelled and div(".labels.a")[_labels(drawn, before, relevant)],
        div(".ends.a")[_numbers(drawn, before)],
        div(".lines", style=f"width:{WIDTH}px")[
            (
                _line(change, left, right, relevant)
                for change, left, right in zip(drawn, before, after, strict=True)
            )
        ],
        div(".ends.b")[_numbers(drawn, after)],
        labelled and div(".labels.b")[_labels(drawn, after, relevant)],
    ]
    kinds = [kind for kind, _ in KINDS if any(_kind(change) == kind for change in drawn)]
    kinds += ["relevant"] if relevant else []
    return drawing, markup.legend(*((kind, title) for kind, title in (*KINDS, RELEVANT) if kind in kinds))


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
    if not (change.before_number or change.after_number):
        return "neither"
    return "entered" if change.entered else "left" if change.left else "both"


def _line(change: RankChange, before: _End, after: _End, relevant: Collection[str]) -> Element:
    fall = ROW * (after.height - before.height)
    turn = f"width:{hypot(WIDTH, fall):.1f}px;rotate:{atan2(fall, WIDTH):.4f}rad"
    return i(
        class_=[_kind(change), {"relevant": change.id in relevant}],
        style=f"{_top(before.height)};{turn}",
        title=_title(change),
    )


def _title(change: RankChange) -> str:
    return f"{change.label} ({change.site})" if change.site else change.label


def _numbers(changes: Sequence[RankChange], ends: Sequence[_End]) -> Iterator[Element]:
    taken = {end.height for end in ends}
    for rank in range(1, DEPTH + 1):
        if rank not in taken:
            yield i(style=_top(rank))
    for change, end in zip(changes, ends, strict=True):
        yield span(class_={"in": end.number}, style=_top(end.height), title=_title(change))[end.text]


def _labels(
    changes: Sequence[RankChange], ends: Sequence[_End], relevant: Collection[str]
) -> Iterator[Element]:
    """Yield the beginning of each passage that is in the context of this side, or relevant."""
    for change, end in zip(changes, ends, strict=True):
        if end.number or change.id in relevant:
            far = end.number and end.rank and end.rank > DEPTH
            yield span(
                class_={"relevant": change.id in relevant},
                style=_top(end.height),
                title=_title(change),
                dir="auto",
            )[f"rank {end.rank:,} · " if far else "", change.label]


def _axis() -> Iterator[Element]:
    for rank in (1, *range(5, DEPTH + 1, 5)):
        yield span(style=_top(rank))[str(rank)]


def _top(height: float) -> str:
    return f"top:{ROW * (height - 0.5):.1f}px"


def _words(changes: Sequence[RankChange], names: tuple[str, str]) -> str:
    """Return a text version of the drawing, for screen readers."""
    lines = (
        f"{change.label}: {_rank(change.before)} under {names[0]}, {_rank(change.after)} under {names[1]}"
        f"{', entered the context' if change.entered else ', left the context' if change.left else ''}"
        for change in changes
    )
    return f"Rank of each source. {'; '.join(lines)}."


def _rank(rank: int | None) -> str:
    return "not ranked" if rank is None else f"rank {rank:,}"
