"""Difference between the context of a tuned ranking and the sources of the answer."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis.rankings.context_membership import context_tokens
from core.model import Phase
from core.run.state import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDiff:
    """The tuned context against the answer's sources. Numbers are positions in a context, from 1."""

    entered: tuple[int, ...]
    """Positions in the tuned context of passages that are not sources of the answer."""
    left: tuple[int, ...]
    """Numbers of the answer's sources that are not in the tuned context."""
    moved: tuple[tuple[int, int], ...]
    """`(number in the answer, position now)` of sources whose number changed."""
    common: int
    rechunked: bool
    """Whether the articles were chunked again."""
    reused: int
    computed: int
    milliseconds: float
    tokens: int
    """Of the tuned context, estimated from its characters."""

    @property
    def same_context(self) -> bool:
        return not (self.entered or self.left or self.moved)


def context_diff(answered: Run, tuned: Run) -> ContextDiff | None:
    """Compare the tuned context with the sources of `answered`; None when either has no ranking."""
    if tuned.index is None or tuned.ranking is None or answered.index is None:
        return None
    then = {source.passage.id: source.number for source in answered.sources}
    now = {tuned.index.passages[row].id: n for n, row in enumerate(tuned.ranking.context, 1)}
    rechunked = tuned.knobs.chunk != answered.knobs.chunk
    return ContextDiff(
        entered=tuple(n for key, n in now.items() if key not in then),
        left=tuple(n for key, n in then.items() if key not in now),
        moved=tuple((then[key], n) for key, n in now.items() if key in then and then[key] != n),
        common=sum(key in then for key in now),
        rechunked=rechunked,
        reused=tuned.vectors_reused if rechunked else len(tuned.index.passages),
        computed=tuned.vectors_computed if rechunked else 0,
        milliseconds=1000 * _spent(tuned, rechunked=rechunked),
        tokens=context_tokens(tuned.index, tuned.ranking),
    )


def _spent(run: Run, *, rechunked: bool) -> float:
    """Seconds of the ranking, and of chunking and embedding when these were repeated for it."""
    phases = run.timeline.phases
    ranking = phases[Phase.RANK].seconds(run.seconds) if Phase.RANK in phases else 0.0
    if not rechunked:
        return ranking
    before = [phases[phase] for phase in (Phase.CHUNK, Phase.EMBED) if phase in phases]
    ends = [run.seconds if span.end is None else span.end for span in before]
    return ranking + (max(ends) - min(span.start for span in before) if before else 0.0)


def context_differs(answered: Run, tuned: Run) -> bool:
    """Whether the tuned context differs from the answer's sources, in passages or in their order."""
    if tuned.index is None or tuned.ranking is None:
        return False
    now = [tuned.index.passages[row].id for row in tuned.ranking.context]
    return now != [source.passage.id for source in answered.sources]
