"""Difference between the context of a tuned ranking and the sources of the answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.analysis.rankings.context_membership import context_sources, context_tokens
from core.model import Phase, Place, Source
from core.run.state import Run
from core.stages.answering.surroundings import LEAD
from core.text.sanitize import plural, pluralize


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDiff:
    """The tuned context against the answer's sources. Numbers are positions in a context, from 1."""

    entered: tuple[int, ...]
    """Positions in the tuned context of passages outside the answer's sources."""
    left: tuple[int, ...]
    """Numbers of the answer's sources outside the tuned context."""
    moved: tuple[tuple[int, int], ...]
    """`(number in the answer, position now)` of sources whose number changed."""
    resized: tuple[int, ...]
    """Positions of sources whose surrounding text changed since the answer."""
    rechunked: bool
    """Whether the articles were chunked again for this ranking."""
    reused: int
    """Vectors known before this ranking."""
    computed: int
    """Vectors computed for this ranking."""
    milliseconds: float
    """The time for this ranking, without retry waits."""
    tokens: int
    """Estimated tokens of the tuned context."""

    @property
    def same_context(self) -> bool:
        """Whether the sources have the same order and texts."""
        return not (self.entered or self.left or self.moved or self.resized)


def kept_citations(answered: Run, diff: ContextDiff) -> str:
    """Return how many citations of the answer keep their passage, as a sentence. Without citations, it is of sources."""
    counts = answered.check.citation_counts
    total, lost = counts.total(), sum(counts[number] for number in diff.left)
    if not total and diff.left:
        return f"{len(diff.left):,} of {pluralize(len(answered.sources), 'source')} left the context."
    if not total and not diff.entered:
        return "Every source keeps its place." if diff.same_context else "Every source stays in the context."
    if not total:
        return f"{pluralize(len(diff.entered), 'passage')} {plural(len(diff.entered), 'is', 'are')} new in the context."
    if lost == total:
        return "No citation keeps its passage."
    if lost:
        return (
            f"{lost:,} of {pluralize(total, 'citation')} {plural(lost, 'loses its', 'lose their')} passage."
        )
    new = f", {pluralize(len(diff.entered), 'passage')} {plural(len(diff.entered), 'is', 'are')} new"
    return f"Every citation keeps its passage{new if diff.entered else ''}."


def context_diff(answered: Run, tuned: Run) -> ContextDiff | None:
    """Compare the tuned context with the sources of `answered`, or return None without rankings.

    Vectors and milliseconds count only the latest work on `tuned`, not earlier work such as another passage size before
    the cut-off was moved.
    """
    if tuned.index is None or tuned.ranking is None or answered.index is None:
        return None
    context = context_sources(tuned)
    before = {source.passage.id: source.number for source in answered.sources}
    after = {source.passage.id: source.number for source in context}
    places = {source.passage.id: _place(source) for source in answered.sources}
    latest = _latest_phases(tuned)
    rechunked = Phase.CHUNK in latest
    return ContextDiff(
        entered=tuple(n for key, n in after.items() if key not in before),
        left=tuple(n for key, n in before.items() if key not in after),
        moved=tuple((before[key], n) for key, n in after.items() if key in before and before[key] != n),
        resized=tuple(
            source.number
            for source in context
            if places.get(source.passage.id, place := _place(source)) != place
        ),
        rechunked=rechunked,
        reused=tuned.vectors_reused if Phase.EMBED in latest else len(tuned.index.passages),
        computed=tuned.vectors_computed if Phase.EMBED in latest else 0,
        milliseconds=1000 * _spent(tuned, latest),
        tokens=context_tokens(context),
    )


def _latest_phases(run: Run) -> frozenset[Phase]:
    """Return the ranking phases of the latest work."""
    began = run.timeline.resumed
    phases = run.timeline.phases
    return frozenset(
        p for p in (Phase.CHUNK, Phase.EMBED, Phase.RANK) if p in phases and phases[p].start >= began
    )


def _spent(run: Run, latest: frozenset[Phase]) -> float:
    """Return the seconds of these phases.

    Chunking and embedding overlap, so they count from the first start to the last end.
    """
    spans = [run.timeline.phases[phase] for phase in latest - {Phase.RANK}]
    ranking = run.timeline.worked(Phase.RANK, run.seconds) if Phase.RANK in latest else 0.0
    if not spans:
        return ranking
    whole = max(span.start + span.seconds(run.seconds) for span in spans) - min(span.start for span in spans)
    if Phase.EMBED in latest:
        whole -= run.timeline.phases[Phase.EMBED].seconds(run.seconds) - run.timeline.worked(
            Phase.EMBED, run.seconds
        )
    return ranking + whole


def context_differs(answered: Run, tuned: Run) -> bool:
    """Return whether the tuned context and the answer's sources differ in passages, order or surrounding text."""
    if tuned.index is None or tuned.ranking is None:
        return False
    return _places(context_sources(tuned)) != _places(answered.sources)


def contexts_differ(first: Run, second: Run) -> bool:
    """Return whether the contexts of two rankings differ."""
    return _places(context_sources(first)) != _places(context_sources(second))


def _places(sources: Sequence[Source]) -> list[tuple[str, Place]]:
    return [(source.passage.id, _place(source)) for source in sources]


def _place(source: Source) -> Place:
    """Return the range of a source's text.

    Text that only completes its first sentence does not count, because earlier versions cut that sentence.
    """
    completed = not source.after and len(source.before) <= LEAD
    return source.passage.place if completed else source.place
