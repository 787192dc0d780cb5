"""Changes between two runs of one question: sources, passages, pages, ranks, answer."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, cast

from core.analysis.answers.answer_comparison import AnswerComparison, compare_answers
from core.analysis.answers.answer_stats import current_version
from core.analysis.rankings.passage_matching import match_passages
from core.analysis.rankings.ranking_comparison import RankChange, RankingDiff, compare_rankings
from core.analysis.text_diff import DiffKind, DiffPiece, diff_sentences, line_sentences
from core.model import Page, Passage, Source
from core.run.state import Run
from core.stages.rank import require_texts
from core.text.sanitize import single_spaced


class ChangeKind(StrEnum):
    """The kind of a change between two runs."""

    NEW = "new"
    GONE = "gone"
    CHANGED = "changed"
    """The text differs. A passage's text is similar."""
    MOVED = "moved"
    """The same text is at another range of its page, or on another page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChange:
    """A page in either run. `before` is None for a new page, `after` for a gone page."""

    kind: ChangeKind
    before: Page | None
    after: Page | None
    reason: str = ""
    """The reason why a gone page was not read, such as its status, or "" if it was not found."""

    @property
    def page(self) -> Page:
        """The latest version of the page."""
        return cast(Page, self.after or self.before)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageChange:
    """A passage in either of two lists, with its row in each. A source's row is its number minus 1.

    `before` is None for a new passage, `after` for a gone passage.
    """

    kind: ChangeKind
    before: Passage | None
    after: Passage | None
    before_row: int | None
    after_row: int | None

    @property
    def passage(self) -> Passage:
        """The latest version of the passage."""
        return cast(Passage, self.after or self.before)

    @property
    def pieces(self) -> tuple[DiffPiece, ...]:
        """The sentences in only one version, or empty if either is missing."""
        if self.before is None or self.after is None:
            return ()
        pieces = diff_sentences(line_sentences(self.before.text), line_sentences(self.after.text))
        return tuple(piece for piece in pieces if piece.kind is not DiffKind.COMMON)


class ChangeScores(NamedTuple):
    """Differences of two runs, each from 0 (none) to 1 (all). Moved items count as unchanged."""

    sources: float
    """The share of the sources of both runs that a single run has."""
    texts: float
    """The share of the common sources with a changed text."""
    answer: float
    """1 minus the Sørensen–Dice coefficient of the answers' sentences, or 1 if a single run has an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChanges:
    """The second run against the first.

    `passages` compares all ranked passages, `sources` the answers' sources. `ranks` are the passages whose position in
    the context differs, or that are in a single context, in the order of the second ranking. `ranking` and `answer` are
    None if either run has none.
    """

    before: Run
    after: Run
    pages: tuple[PageChange, ...]
    passages: tuple[PassageChange, ...]
    sources: tuple[PassageChange, ...]
    ranking: RankingDiff | None
    answer: AnswerComparison | None

    @property
    def ranks(self) -> tuple[RankChange, ...]:
        """The passages whose number in the context differs."""
        changes = self.ranking.changes if self.ranking else ()
        return tuple(change for change in changes if change.before_number != change.after_number)

    @property
    def scores(self) -> ChangeScores:
        """The size of the differences."""
        kinds = Counter(change.kind for change in self.sources)
        first, second = len(self.before.sources), len(self.after.sources)
        one_sided = (self.before.answer is None) != (self.after.answer is None)
        return ChangeScores(
            sources=_share(kinds[ChangeKind.NEW] + kinds[ChangeKind.GONE], first + second),
            texts=_share(kinds[ChangeKind.CHANGED], second - kinds[ChangeKind.NEW]),
            answer=1 - self.answer.similarity if self.answer else float(one_sided),
        )

    def source(self, change: PassageChange) -> Source:
        """Return the latest source of a change in `sources`."""
        run, row = (
            (self.before, change.before_row) if change.after_row is None else (self.after, change.after_row)
        )
        return run.sources[cast(int, row)]

    @property
    def source_pages(self) -> dict[ChangeKind, tuple[str, ...]]:
        """Keys of the source pages of the second run only (new), and of the first only (gone)."""
        first, second = (
            dict.fromkeys(source.passage.place.page for source in run.sources)
            for run in (self.before, self.after)
        )
        return {
            ChangeKind.NEW: tuple(key for key in second if key not in first),
            ChangeKind.GONE: tuple(key for key in first if key not in second),
        }


def run_changes(before: Run, after: Run) -> RunChanges:
    """Compare two runs of one question.

    Raises:
        BadInput: when page texts of either run are missing.
    """
    for run in (before, after):
        require_texts(run.passages, run.pages)
    first, second = current_version(before), current_version(after)
    return RunChanges(
        before=before,
        after=after,
        pages=_page_changes(before, after),
        passages=passage_changes(*(run.index.passages if run.index else () for run in (before, after))),
        sources=passage_changes(*([source.passage for source in run.sources] for run in (before, after))),
        ranking=compare_rankings(before, after),
        answer=compare_answers(first, second) if first and second else None,
    )


def passage_changes(before: Sequence[Passage], after: Sequence[Passage]) -> tuple[PassageChange, ...]:
    """Return the new passages of the second list, then the gone passages of the first.

    `match_passages` pairs the passages.
    """
    pairs = match_passages(before, after)
    rows = {other: row for row, other in pairs.items()}
    changes = []
    for after_row, passage in enumerate(after):
        row = rows.get(after_row)
        earlier = None if row is None else before[row]
        if kind := _kind(earlier, passage):
            changes.append(
                PassageChange(kind=kind, before=earlier, after=passage, before_row=row, after_row=after_row)
            )
    changes += (
        PassageChange(kind=ChangeKind.GONE, before=passage, after=None, before_row=row, after_row=None)
        for row, passage in enumerate(before)
        if row not in pairs
    )
    return tuple(changes)


def _kind(before: Passage | None, after: Passage) -> ChangeKind | None:
    if before is None:
        return ChangeKind.NEW
    if single_spaced(before.text) != single_spaced(after.text):
        return ChangeKind.CHANGED
    places = {before.place, *before.also} & {after.place, *after.also}
    return None if places else ChangeKind.MOVED


def _page_changes(before: Run, after: Run) -> tuple[PageChange, ...]:
    """Return the changes of full pages: the snippet of a page shows nothing about its text."""
    first, second = (
        {page.key: page for page in run.ranked_pages if not page.snippet_only} for run in (before, after)
    )
    changes = []
    for key, page in second.items():
        earlier = first.get(key)
        if earlier is None or earlier.text != page.text:
            kind = ChangeKind.CHANGED if earlier else ChangeKind.NEW
            changes.append(PageChange(kind=kind, before=earlier, after=page))
    for key, page in first.items():
        if key not in second:
            skip = after.skips.get(key)
            reason = ": ".join(filter(None, (skip.reason, skip.detail))) if skip else ""
            changes.append(PageChange(kind=ChangeKind.GONE, before=page, after=None, reason=reason))
    return tuple(changes)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
