"""A tuned ranking against the sources of the answer."""

from __future__ import annotations

from dataclasses import dataclass

from core.analysis.rankings.context_membership import context_tokens
from core.model import Phase
from core.run.state import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """A tuned ranking against the sources of the answer. Numbers are places in a context, from 1."""

    entered: tuple[int, ...]
    """Numbers in the tuned context of passages that are no sources of the answer."""
    left: tuple[int, ...]
    """Numbers of the answer's sources that the tuned context no longer holds."""
    moved: tuple[tuple[int, int], ...]
    """`(number in the answer, number now)` of those whose number is another."""
    kept: int
    recut: bool
    """Whether the articles were cut into passages anew."""
    reused: int
    computed: int
    milliseconds: float
    tokens: int
    """Of the tuned context, estimated from its characters."""

    @property
    def same_context(self) -> bool:
        return not (self.entered or self.left or self.moved)


def changes(answered: Run, tuned: Run) -> Changes | None:
    """What tuning did to the context of `answered`; None when either has no ranking."""
    if tuned.index is None or tuned.ranking is None or answered.index is None:
        return None
    then = {source.passage.id: source.number for source in answered.sources}
    now = {tuned.index.passages[row].id: n for n, row in enumerate(tuned.ranking.context, 1)}
    recut = tuned.knobs.chunk != answered.knobs.chunk
    return Changes(
        entered=tuple(n for key, n in now.items() if key not in then),
        left=tuple(n for key, n in then.items() if key not in now),
        moved=tuple((then[key], n) for key, n in now.items() if key in then and then[key] != n),
        kept=sum(key in then for key in now),
        recut=recut,
        reused=tuned.vectors_reused if recut else len(tuned.index.passages),
        computed=tuned.vectors_computed if recut else 0,
        milliseconds=1000 * _spent(tuned, recut=recut),
        tokens=context_tokens(tuned.index, tuned.ranking),
    )


def _spent(run: Run, *, recut: bool) -> float:
    """Seconds of the ranking, and of cutting and embedding when these were done for it."""
    phases = run.timeline.phases
    ranking = phases[Phase.RANK].seconds(run.seconds) if Phase.RANK in phases else 0.0
    if not recut:
        return ranking
    before = [phases[phase] for phase in (Phase.CHUNK, Phase.EMBED) if phase in phases]
    ends = [run.seconds if span.end is None else span.end for span in before]
    return ranking + (max(ends) - min(span.start for span in before) if before else 0.0)


def other_context(answered: Run, tuned: Run) -> bool:
    """Whether an answer from the tuned ranking would rest on other sources, or on the same in another order."""
    if tuned.index is None or tuned.ranking is None:
        return False
    now = [tuned.index.passages[row].id for row in tuned.ranking.context]
    return now != [source.passage.id for source in answered.sources]
