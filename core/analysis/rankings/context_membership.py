"""What the analyses share: a run ranked anew, why each passage is in its context or not, and which were cited."""

from __future__ import annotations

import math
from dataclasses import replace

from core.model import Index, Place, Ranking
from core.run.state import Run
from core.stages.context_selection import ExclusionReason, verdicts
from core.stages.near_duplicates import clusters_for
from core.stages.rank import bm25_only, rank
from core.text.sanitize import CHARACTERS_A_TOKEN


def ranked(run: Run) -> Run:
    """The run with its index ranked under its knobs; itself when it has no index.

    Reranking scores that it has are used again as long as the index is the one they were given for.
    """
    if run.index is None:
        return run
    before = run.ranking
    known = before.rerank if before is not None else None
    if known is not None and len(known) != len(run.index.passages):
        known = None
    ranking = rank(
        run.question,
        run.index,
        run.knobs.rank,
        run.pages,
        rerank=known,
        reranker=before.reranker if before is not None and known is not None else "",
    )
    return replace(run, ranking=ranking)


def verdicts_of(run: Run) -> dict[int, ExclusionReason | None]:
    """Every ranked row, best first, with the reason why it is no source; None for those that are."""
    if run.index is None or run.ranking is None:
        return {}
    ranking, knobs = run.ranking, run.knobs.rank
    words = ranking.bm25 if bm25_only(knobs, ranking.cosine) else None
    return dict(
        verdicts(
            run.index.passages,
            ranking.order.tolist(),
            knobs,
            cosine=ranking.cosine,
            words=words,
            clusters=clusters_for(run.pages, knobs),
        )
    )


def cited_rows(run: Run) -> tuple[int, ...]:
    """Rows of the context that the answer cites, in the order of the context.

    The answer has sources of its own: after tuning, the context may hold others or other cuts of the same
    text. A row counts as cited when it overlaps a cited source.
    """
    if run.index is None or run.ranking is None:
        return ()
    cited = [
        place
        for source in run.sources
        if source.number in run.check.cited
        for place in (source.passage.place, *source.passage.also)
    ]
    passages = run.index.passages
    return tuple(
        row
        for row in run.ranking.context
        if any(overlaps(own, other) for own in (passages[row].place, *passages[row].also) for other in cited)
    )


def overlaps(one: Place, other: Place) -> bool:
    return one.page == other.page and one.start < other.end and other.start < one.end


def answers_this_context(run: Run) -> bool:
    """Whether the answer's sources are the context as it is ranked now."""
    if run.index is None or run.ranking is None:
        return False
    now = {run.index.passages[row].id for row in run.ranking.context}
    return now == {source.passage.id for source in run.sources}


def context_tokens(index: Index, ranking: Ranking) -> int:
    """About how many tokens the passages of the context have."""
    return math.ceil(sum(len(index.passages[row].text) for row in ranking.context) / CHARACTERS_A_TOKEN)
