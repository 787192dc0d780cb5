"""Two rankings side by side: under two settings, by two embedders, or of two runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.analysis.rankings.context_membership import context_tokens
from core.analysis.rankings.passage_matching import matched
from core.analysis.rankings.rank_metrics import jaccard, rank_biased_overlap
from core.model import Passage
from core.model.passage_urls import site
from core.run.state import Run
from core.text.sanitize import one_line

DEPTHS = (1, 3, 5, 10, 20)
"""Depths at which the Jaccard similarity is told, beside that of the contexts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A passage in both rankings or in one. Ranks count from 1; numbers are those in the context.

    `before_row` and `after_row` are its rows in the two indexes.
    """

    label: str
    site: str
    before: int | None
    after: int | None
    before_number: int | None
    after_number: int | None
    before_row: int | None
    after_row: int | None

    @property
    def steps(self) -> int | None:
        """Ranks that it rose by; negative when it fell, None when it is in one ranking only."""
        return None if self.before is None or self.after is None else self.before - self.after

    @property
    def entered(self) -> bool:
        return self.before_number is None and self.after_number is not None

    @property
    def left(self) -> bool:
        return self.before_number is not None and self.after_number is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one side has to rank, and what its context takes."""

    passages: int
    context_tokens: int
    """Estimated: four characters a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`moves` holds every passage of either ranking, in the order of the second, then those that are gone.

    `overlap` is extrapolated rank-biased overlap (p = 0.9), `contexts` the Jaccard similarity of the two
    contexts, `at` that of the first k of both by k.
    """

    moves: tuple[Move, ...]
    overlap: float
    contexts: float
    at: dict[int, float]
    before: Figures
    after: Figures

    @property
    def changed(self) -> Comparison:
        """The same comparison with those moves alone that enter or leave a context."""
        return replace(self, moves=tuple(move for move in self.moves if move.entered or move.left))

    def bump(self, depth: int = 20) -> tuple[Move, ...]:
        """The rows of a bump chart: every passage that is among the first `depth` on either side or a source."""
        return tuple(
            move
            for move in self.moves
            if (move.before or depth + 1) <= depth
            or (move.after or depth + 1) <= depth
            or move.before_number
            or move.after_number
        )


def compare(before: Run, after: Run) -> Comparison | None:
    """The second ranking against the first; None when either has none.

    Passages that were cut in other places are matched as `matching.matched` tells. No vectors are compared,
    so their widths may differ.
    """
    if before.index is None or before.ranking is None or after.index is None or after.ranking is None:
        return None
    pairs = matched(before.index.passages, after.index.passages)
    # Passages of the first side are named by their rows, those that only the second has by negative numbers.
    names = {other: row for row, other in pairs.items()}
    first = before.ranking.order.tolist()
    second = [names.get(row, -1 - row) for row in after.ranking.order.tolist()]
    contexts = (
        before.ranking.context,
        tuple(names.get(row, -1 - row) for row in after.ranking.context),
    )
    return Comparison(
        moves=_moves(before, after, names),
        overlap=rank_biased_overlap(first, second),
        contexts=jaccard(*contexts, k=max(map(len, contexts))),
        at={k: jaccard(first, second, k) for k in DEPTHS if k <= max(len(first), len(second))},
        before=Figures(
            passages=len(before.index.passages), context_tokens=context_tokens(before.index, before.ranking)
        ),
        after=Figures(
            passages=len(after.index.passages), context_tokens=context_tokens(after.index, after.ranking)
        ),
    )


def _moves(before: Run, after: Run, names: dict[int, int]) -> tuple[Move, ...]:
    before_ranks, before_numbers = _ranks(before)
    after_ranks, after_numbers = _ranks(after)
    moves = [
        _move(
            after,
            row,
            before=before_ranks.get(names.get(row, -1)),
            before_number=before_numbers.get(names.get(row, -1)),
            before_row=names.get(row),
            after=rank,
            after_number=after_numbers.get(row),
            after_row=row,
        )
        for row, rank in after_ranks.items()
    ]
    gone = set(before_ranks) - set(names.values())
    moves += [
        _move(
            before,
            row,
            before=rank,
            before_number=before_numbers.get(row),
            before_row=row,
            after=None,
            after_number=None,
            after_row=None,
        )
        for row, rank in before_ranks.items()
        if row in gone
    ]
    return tuple(moves)


def _ranks(run: Run) -> tuple[dict[int, int], dict[int, int]]:
    """Ranks and numbers in the context by row, both from 1."""
    if run.ranking is None:
        return {}, {}
    ranks = {row: rank for rank, row in enumerate(run.ranking.order.tolist(), 1)}
    return ranks, {row: number for number, row in enumerate(run.ranking.context, 1)}


def _move(run: Run, row: int, **places: int | None) -> Move:
    passages: tuple[Passage, ...] = run.index.passages if run.index else ()
    page = run.pages.get(passages[row].place.page)
    return Move(label=one_line(passages[row].text[:200], 80), site=site(page.url) if page else "", **places)
