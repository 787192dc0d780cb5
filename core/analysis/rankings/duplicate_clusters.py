"""Clusters of near-duplicate pages of a run, and the effect of limiting each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.analysis.rankings.context_membership import ranked
from core.analysis.rankings.ranking_comparison import RankingDiff, compare_rankings
from core.model import Page
from core.run.state import Run
from core.stages.ranking.near_duplicates import clusters, copies, shingles
from core.text.sanitize import pluralize


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateClusters:
    """Clusters of near-duplicate pages.

    `clusters` holds clusters of at least two pages, the largest first. Each maps its pages' keys, the longest page
    first, to the share of a page's shingles in the longest page. `independent` counts all clusters.
    """

    clusters: tuple[Mapping[str, float], ...]
    pages: int
    independent: int
    sources: int
    """The number of pages among the answer's sources."""
    independent_sources: int
    """The number of clusters among these pages."""

    @property
    def summary(self) -> str:
        """A sentence for a person."""
        if self.independent == self.pages:
            return f"No near-duplicates among {pluralize(self.pages, 'page')}."
        return (
            f"{pluralize(self.pages, 'page')}, {self.independent} independent; the answer's sources are from "
            f"{pluralize(self.sources, 'page')}, {self.independent_sources} independent."
        )


def duplicate_clusters(run: Run) -> DuplicateClusters:
    """Cluster the pages of the run by their shingles, with the ranking's `near_duplicates`."""
    numbers = clusters(run.pages.values())
    members: dict[int, list[Page]] = {}
    for key, number in numbers.items():
        members.setdefault(number, []).append(run.pages[key])
    near_duplicates = [_containments(pages) for pages in members.values() if len(pages) > 1]
    of_sources = [key for key in {source.passage.place.page for source in run.sources} if key in numbers]
    return DuplicateClusters(
        clusters=tuple(sorted(near_duplicates, key=len, reverse=True)),
        pages=len(numbers),
        independent=len(members),
        sources=len(of_sources),
        independent_sources=len({numbers[key] for key in of_sources}),
    )


def _containments(pages: list[Page]) -> dict[str, float]:
    """Return the share of each page's shingles in the longest page, by key, longest first."""
    shingled = [(shingles(page.text), page.key) for page in pages]
    shingled.sort(key=lambda pair: (-len(pair[0]), pair[1]))
    longest = shingled[0][0]
    return {key: len(own & longest) / max(len(own), 1) for own, key in shingled}


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateLimit:
    """Rankings without (`unlimited`) and with (`limited`) a limit of near-identical passages.

    The comparison goes from the first to the second. The counts are the passages of either context that repeat one
    before them.
    """

    unlimited: Run
    limited: Run
    comparison: RankingDiff
    copies_unlimited: int
    copies_limited: int


def duplicate_limit(run: Run, limit: int) -> DuplicateLimit | None:
    """Compare at most `limit` near-identical passages with no limit, or return None without a ranking.

    Raises:
        ValueError: when the limit is not from 1 to 50.
    """
    if not 1 <= limit <= 50:
        raise ValueError(f"a limit is from 1 to 50, got {limit}")
    unlimited, limited = _under(run, 0), _under(run, limit)
    comparison = compare_rankings(unlimited, limited)
    if comparison is None:
        return None
    return DuplicateLimit(
        unlimited=unlimited,
        limited=limited,
        comparison=comparison,
        copies_unlimited=_copies(unlimited),
        copies_limited=_copies(limited),
    )


def _under(run: Run, limit: int) -> Run:
    return ranked(replace(run, knobs=replace(run.knobs, rank=replace(run.knobs.rank, per_cluster=limit))))


def _copies(run: Run) -> int:
    """Count the passages of the context that repeat one before them."""
    if run.index is None or run.ranking is None:
        return 0
    repeated = copies([run.index.passages[row] for row in run.ranking.context])
    return sum(min(others) < place for place, others in repeated.items())
