"""Effect of the limit on passages per duplicate group: the ranking with it and without it."""

from dataclasses import dataclass, replace

from core.analysis.rankings.context_membership import ranked
from core.analysis.rankings.ranking_comparison import RankingDiff, compare_rankings
from core.run.state import Run
from core.stages.ranking.near_duplicates import clusters


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateLimit:
    """`unlimited` is ranked without the limit, `limited` with it; the comparison goes from the first to the second.

    The counts are those of duplicate groups in either context, and of the most passages from one group.
    """

    limit: int
    unlimited: Run
    limited: Run
    comparison: RankingDiff
    groups_unlimited: int
    groups_limited: int
    most_unlimited: int
    most_limited: int


def duplicate_limit(run: Run, limit: int) -> DuplicateLimit | None:
    """The run with at most `limit` passages of each duplicate group against no limit; None when it has no ranking.

    Raises:
        ValueError: when the limit is not from 1 to 50.
    """
    if not 1 <= limit <= 50:
        raise ValueError(f"a limit is from 1 to 50, got {limit}")
    unlimited, limited = _under(run, 0), _under(run, limit)
    comparison = compare_rankings(unlimited, limited)
    if comparison is None:
        return None
    numbers = clusters(run.pages.values())
    before, after = _groups(unlimited, numbers), _groups(limited, numbers)
    return DuplicateLimit(
        limit=limit,
        unlimited=unlimited,
        limited=limited,
        comparison=comparison,
        groups_unlimited=len(set(before)),
        groups_limited=len(set(after)),
        most_unlimited=max(map(before.count, before), default=0),
        most_limited=max(map(after.count, after), default=0),
    )


def _under(run: Run, limit: int) -> Run:
    return ranked(replace(run, knobs=replace(run.knobs, rank=replace(run.knobs.rank, per_cluster=limit))))


def _groups(run: Run, numbers: dict[str, int]) -> list[int]:
    """The duplicate group of each passage of the context."""
    if run.index is None or run.ranking is None:
        return []
    pages = [run.index.passages[row].place.page for row in run.ranking.context]
    return [numbers[page] for page in pages if page in numbers]
