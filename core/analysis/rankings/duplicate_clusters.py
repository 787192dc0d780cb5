"""Near-duplicate pages of a run, in clusters, the number of independent pages, and the effect of a limit on each group."""

from dataclasses import dataclass, replace

from core.analysis.rankings.context_membership import ranked
from core.analysis.rankings.ranking_comparison import RankingDiff, compare_rankings
from core.model import Page
from core.model.passage_urls import site
from core.run.state import Run
from core.stages.ranking.near_duplicates import clusters, shingles
from core.text.sanitize import pluralize


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDuplicate:
    """A page of a cluster. `containment` is the share of its shingles that the cluster's longest page has."""

    key: str
    url: str
    title: str
    site: str
    date: str
    containment: float
    sources: tuple[int, ...]
    """The numbers of the answer's sources that are passages of this page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Near-duplicate pages, the longest first."""

    number: int
    pages: tuple[NearDuplicate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateClusters:
    """`clusters` holds those of two pages and more, the largest first; `independent` counts all."""

    clusters: tuple[Cluster, ...]
    pages: int
    independent: int
    sources: int
    """Pages among the answer's sources."""
    independent_sources: int
    """Clusters among these pages."""

    @property
    def summary(self) -> str:
        """One sentence for a person."""
        return (
            f"{pluralize(self.pages, 'page')}, {self.independent} independent; the answer's sources are from "
            f"{pluralize(self.sources, 'page')}, {self.independent_sources} independent."
        )


def duplicate_clusters(run: Run) -> DuplicateClusters:
    """Cluster the pages of the run by their shingles, as `core.stages.ranking.near_duplicates` does for the ranking."""
    numbers = clusters(run.pages.values())
    cited: dict[str, list[int]] = {}
    for source in run.sources:
        cited.setdefault(source.passage.place.page, []).append(source.number)
    members: dict[int, list[Page]] = {}
    for key, number in numbers.items():
        members.setdefault(number, []).append(run.pages[key])
    near_duplicates = [
        Cluster(number=number, pages=_members(pages, cited))
        for number, pages in members.items()
        if len(pages) > 1
    ]
    of_sources = [key for key in cited if key in numbers]
    return DuplicateClusters(
        clusters=tuple(sorted(near_duplicates, key=lambda cluster: (-len(cluster.pages), cluster.number))),
        pages=len(numbers),
        independent=len(members),
        sources=len(of_sources),
        independent_sources=len({numbers[key] for key in of_sources}),
    )


def _members(pages: list[Page], cited: dict[str, list[int]]) -> tuple[NearDuplicate, ...]:
    shingled = [(shingles(page.text), page) for page in pages]
    shingled.sort(key=lambda pair: (-len(pair[0]), pair[1].key))
    longest = shingled[0][0]
    return tuple(
        NearDuplicate(
            key=page.key,
            url=page.url,
            title=page.title,
            site=site(page.url),
            date=page.article.date[:10],
            containment=len(own & longest) / max(len(own), 1),
            sources=tuple(cited.get(page.key, ())),
        )
        for own, page in shingled
    )


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
