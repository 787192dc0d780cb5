"""Comparison of two rankings, by two settings, embedders or runs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from core.analysis.rankings.context_membership import context_sources, context_tokens
from core.analysis.rankings.passage_matching import match_passages
from core.analysis.rankings.ranked_passages import ranks_by_row
from core.model import Passage
from core.model.passage_urls import site
from core.run.state import Run
from core.text.display import passage_label

DEPTHS = (1, 3, 5, 10, 20)
"""Depths k of the Jaccard similarities."""
PERSISTENCE = 0.9
"""The probability p that a reader looks at the next item.

With 0.9 the first ten ranks have 86 % of the weight.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankChange:
    """A passage in either ranking. Ranks and numbers in the context count from 1.

    `id` is that of the second index if it has the passage, else of the first. `before_row` and `after_row` are the rows
    in the two indexes.
    """

    id: str
    text: str
    url: str
    before: int | None
    after: int | None
    before_number: int | None
    after_number: int | None
    before_row: int | None
    after_row: int | None

    @property
    def label(self) -> str:
        """The beginning of the text on one line, made on reading because most are never drawn."""
        return passage_label(self.text, 80)

    @property
    def site(self) -> str:
        """The site of the page, or "" without a page."""
        return site(self.url) if self.url else ""

    @property
    def rise(self) -> int | None:
        """The ranks gained, negative for a fall, or None if either ranking lacks the passage."""
        return None if self.before is None or self.after is None else self.before - self.after

    @property
    def entered(self) -> bool:
        """Whether the passage is only in the second context."""
        return self.before_number is None and self.after_number is not None

    @property
    def left(self) -> bool:
        """Whether the passage is only in the first context."""
        return self.before_number is not None and self.after_number is None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingSize:
    """Size of a ranking and of its context."""

    passages: int
    context_tokens: int
    """Estimated tokens: four characters per token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingDiff:
    """The second ranking against the first.

    `changes` has every passage of either ranking, in the order of the second, then passages only in the first.
    `overlap` is extrapolated rank-biased overlap (p = 0.9), `contexts` the Jaccard similarity of the two contexts, `at`
    the similarity of the first k passages by k.
    """

    changes: tuple[RankChange, ...]
    overlap: float
    contexts: float
    at: dict[int, float]
    before: RankingSize
    after: RankingSize

    @property
    def context_only(self) -> RankingDiff:
        """The comparison of passages entering or leaving the context."""
        return replace(
            self, changes=tuple(change for change in self.changes if change.entered or change.left)
        )


def compare_rankings(before: Run, after: Run) -> RankingDiff | None:
    """Compare two rankings, or return None without both.

    `match_passages` matches passages of different chunkings. Vectors are not compared, so their dimensions may differ.
    """
    if before.index is None or before.ranking is None or after.index is None or after.ranking is None:
        return None
    pairs = match_passages(before.index.passages, after.index.passages)
    # Row numbers name passages of the first ranking, negative numbers passages only in the second.
    names = {other: row for row, other in pairs.items()}
    first = before.ranking.order.tolist()
    second = [names.get(row, -1 - row) for row in after.ranking.order.tolist()]
    contexts = (before.ranking.context, tuple(names.get(row, -1 - row) for row in after.ranking.context))
    return RankingDiff(
        changes=tuple(_changes(before, after, names)),
        overlap=rank_biased_overlap(first, second),
        contexts=jaccard(*contexts, k=max(map(len, contexts))),
        at={k: jaccard(first, second, k) for k in DEPTHS if k <= max(len(first), len(second))},
        before=RankingSize(
            passages=len(before.index.passages), context_tokens=context_tokens(context_sources(before))
        ),
        after=RankingSize(
            passages=len(after.index.passages), context_tokens=context_tokens(context_sources(after))
        ),
    )


def _changes(before: Run, after: Run, names: dict[int, int]) -> Iterator[RankChange]:
    """Yield the passages of the second ranking in order, then passages only in the first."""
    before_places, after_places, matched = _places(before), _places(after), set(names.values())
    rows = [(names.get(row, -1), row) for row in after_places]
    rows += [(row, -1) for row in before_places if row not in matched]
    for before_row, after_row in rows:
        before_rank, before_number = before_places.get(before_row, (None, None))
        after_rank, after_number = after_places.get(after_row, (None, None))
        run, row = (before, before_row) if after_rank is None else (after, after_row)
        passages: tuple[Passage, ...] = run.index.passages if run.index else ()
        page = run.pages.get(passages[row].place.page)
        yield RankChange(
            id=passages[row].id,
            text=passages[row].text,
            url=page.url if page else "",
            before=before_rank,
            after=after_rank,
            before_number=before_number,
            after_number=after_number,
            before_row=None if before_row < 0 else before_row,
            after_row=None if after_row < 0 else after_row,
        )


def _places(run: Run) -> dict[int, tuple[int, int | None]]:
    """Return rank and number in the context, by row."""
    numbers = run.context_numbers
    ranks = ranks_by_row(run.ranking) if run.ranking else {}
    return {row: (rank, numbers.get(row)) for row, rank in ranks.items()}


def rank_biased_overlap(
    first: Sequence[Hashable], other: Sequence[Hashable], *, p: float = PERSISTENCE
) -> float:
    """Return the extrapolated rank-biased overlap, from 0 (disjoint) to 1 (same order).

    Webber, Moffat and Zobel, "A similarity measure for indefinite rankings", ACM TOIS 28(4), 2010, equation 32, which
    allows lists of different lengths. Two empty lists agree. No item may occur twice in a list.
    """
    short, long = sorted((first, other), key=len)
    s, l = len(short), len(long)  # noqa: E741  # the names of the paper
    if not l:
        return 1.0
    if not s:
        return 0.0
    seen_short: set[Hashable] = set()
    seen_long: set[Hashable] = set()
    shared = shared_at_s = 0
    total = 0.0
    for depth in range(1, l + 1):
        item = long[depth - 1]
        seen_long.add(item)
        shared += item in seen_short
        if depth <= s:
            seen_short.add(short[depth - 1])
            shared += short[depth - 1] in seen_long
        if depth == s:
            shared_at_s = shared
        agreed = shared / depth
        if depth > s:
            agreed += shared_at_s * (depth - s) / (s * depth)
        total += agreed * p**depth
    extrapolated = ((shared - shared_at_s) / l + shared_at_s / s) * p**l
    return min(max((1 - p) / p * total + extrapolated, 0.0), 1.0)


def jaccard(first: Sequence[Hashable], other: Sequence[Hashable], k: int) -> float:
    """Return the Jaccard similarity of the first k items, or 1 if both are empty."""
    union = {*first[:k], *other[:k]}
    return len({*first[:k]} & {*other[:k]}) / len(union) if union else 1.0
