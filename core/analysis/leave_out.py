"""Leave one out: what a page contributed, seen from the ranking without it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.analysis.compare import Comparison, Move, compare
from core.analysis.context import ranked
from core.model import Sentence
from core.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """The run without one page among its sources.

    `without` has the page among `rank.excluded`: its passages are ranked all the same, and are no sources.
    Handed to `answer_again` as the tuned run, it gives the answer without the page. `citing` are the
    answer's sentences that cite the page, `only` those of them that cite nothing else.
    """

    without: Run
    comparison: Comparison
    citing: tuple[Sentence, ...]
    only: tuple[Sentence, ...]

    @property
    def lost(self) -> tuple[Move, ...]:
        """Passages that leave the context, best first."""
        left = (move for move in self.comparison.moves if move.left)
        return tuple(sorted(left, key=lambda move: move.before_number or 0))

    @property
    def gained(self) -> tuple[Move, ...]:
        """Passages that take their places."""
        entered = (move for move in self.comparison.moves if move.entered)
        return tuple(sorted(entered, key=lambda move: move.after_number or 0))


def leave_out(run: Run, key: str) -> Absence | None:
    """The run with the page of this key excluded; None when it has no such page or no ranking."""
    if key not in run.pages:
        return None
    knobs = run.knobs.rank
    excluded = tuple(dict.fromkeys((*knobs.excluded, key)))
    without = ranked(replace(run, knobs=replace(run.knobs, rank=replace(knobs, excluded=excluded))))
    comparison = compare(run, without)
    if comparison is None:
        return None
    own = {
        source.number
        for source in run.sources
        if any(place.page == key for place in (source.passage.place, *source.passage.also))
    }
    citing = tuple(sentence for sentence in run.check.sentences if own & set(sentence.cites))
    return Absence(
        without=without,
        comparison=comparison,
        citing=citing,
        only=tuple(sentence for sentence in citing if own >= set(sentence.cites)),
    )
