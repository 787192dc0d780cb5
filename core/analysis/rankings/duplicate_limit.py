"""What the limit on passages of one text does: the ranking with it and without it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.analysis.rankings.context_membership import ranked
from core.analysis.rankings.ranking_comparison import Comparison, compare
from core.run.state import Run
from core.stages.near_duplicates import clusters


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateLimit:
    """`free` is ranked without the limit, `capped` with it; the comparison goes from the one to the other.

    The counts are those of different texts in either context, where pages that carry nearly the same count
    as one, and of the most passages that one text has there.
    """

    limit: int
    free: Run
    capped: Run
    comparison: Comparison
    texts_free: int
    texts_capped: int
    most_free: int
    most_capped: int


def duplicate_limit(run: Run, limit: int) -> DuplicateLimit | None:
    """The run under `limit` passages of each text against none; None when it has no ranking.

    Raises:
        ValueError: when the limit is not from 1 to 50.
    """
    if not 1 <= limit <= 50:
        raise ValueError(f"a limit is from 1 to 50, got {limit}")
    free, capped = _under(run, 0), _under(run, limit)
    comparison = compare(free, capped)
    if comparison is None:
        return None
    numbers = clusters(run.pages.values())
    before, after = _texts(free, numbers), _texts(capped, numbers)
    return DuplicateLimit(
        limit=limit,
        free=free,
        capped=capped,
        comparison=comparison,
        texts_free=len(set(before)),
        texts_capped=len(set(after)),
        most_free=max(map(before.count, before), default=0),
        most_capped=max(map(after.count, after), default=0),
    )


def _under(run: Run, limit: int) -> Run:
    return ranked(replace(run, knobs=replace(run.knobs, rank=replace(run.knobs.rank, per_cluster=limit))))


def _texts(run: Run, numbers: dict[str, int]) -> list[int]:
    """The text that each passage of the context belongs to."""
    if run.index is None or run.ranking is None:
        return []
    pages = [run.index.passages[row].place.page for row in run.ranking.context]
    return [numbers[page] for page in pages if page in numbers]
