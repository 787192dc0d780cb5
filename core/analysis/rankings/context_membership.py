"""Context membership: passages in the context or cited, and reasons for exclusion."""

from collections.abc import Iterable
from dataclasses import replace

from core.config.knobs import Knobs
from core.model import Place, Source
from core.run.state import Run
from core.stages.rank import bm25_only, rank, sources
from core.stages.ranking import context_selection
from core.stages.ranking.context_selection import ExclusionReason, documents_for
from core.text.sanitize import estimated_tokens


def ranked(run: Run) -> Run:
    """Rank the run's index again under its knobs. A run without an index is unchanged.

    Scores of a reranking model are reused if they fit the index.
    """
    if run.index is None:
        return run
    before = run.ranking
    scores = before.rerank if before is not None else None
    if scores is not None and len(scores) != len(run.index.passages):
        scores = None
    ranking = rank(
        run.question,
        run.index,
        run.knobs.rank,
        run.pages,
        rerank=scores,
        reranker=before.reranker if before is not None and scores is not None else "",
    )
    return replace(run, ranking=ranking)


def ranked_at_hand(run: Run, knobs: Knobs) -> Run | None:
    """Rank a run under other knobs without a model, or return None if that takes new vectors or reranking."""
    index = run.index
    if index is None or len(index.waiting) or knobs.chunk != run.knobs.chunk or knobs.rank.rerank:
        return None
    return ranked(replace(run, knobs=knobs))


def exclusion_reasons(run: Run) -> dict[int, ExclusionReason | None]:
    """Return the exclusion reason of every ranked row, best first, or None for rows in the context."""
    if run.index is None or run.ranking is None:
        return {}
    ranking, knobs = run.ranking, run.knobs.rank
    bm25_scores = ranking.bm25 if bm25_only(knobs, ranking.cosine) else None
    return dict(
        context_selection.exclusion_reasons(
            run.index.passages,
            ranking.order.tolist(),
            knobs,
            embedder=run.index.embedder,
            cosine=ranking.cosine,
            bm25_scores=bm25_scores,
            documents=documents_for(run.pages, knobs),
        )
    )


def cited_rows(run: Run) -> tuple[int, ...]:
    """Return the rows of the context that the answer cites, in the order of the context.

    After tuning, the context may have other passages than the answer's sources, or the same text chunked differently. A
    row counts as cited if it overlaps a cited source.
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


def overlaps(first: Place, other: Place) -> bool:
    """Return whether two ranges share characters of a page."""
    return first.page == other.page and first.start < other.end and other.start < first.end


def answer_matches_context(run: Run) -> bool:
    """Return whether the answer's sources are the passages of the context, in any order."""
    if run.index is None or run.ranking is None:
        return False
    in_context = {run.index.passages[row].id for row in run.ranking.context}
    return in_context == {source.passage.id for source in run.sources}


def context_sources(run: Run) -> tuple[Source, ...]:
    """Return the sources for an answer from the present ranking, or none without a ranking."""
    if run.index is None or run.ranking is None:
        return ()
    return sources(run.ranking, run.index, run.pages, run.knobs.rank, run.numbers)


def context_tokens(context: Iterable[Source]) -> int:
    """Return the estimated tokens of the sources' texts: four characters per token."""
    return estimated_tokens(sum(len(source.text) for source in context))
