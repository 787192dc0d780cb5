from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.analysis.rankings.context_diff import context_diff, context_differs
from core.config.knobs import ChunkKnobs
from core.model import Index, Passage, Place, Ranking, Source
from core.run.state import Run
from tests import samples
from tests.analysis.folded import finished


def ranked(run: Run, order: list[int], context: tuple[int, ...], index: Index | None = None) -> Run:
    scores = np.linspace(1, 0, len(order), dtype=np.float32)
    ranking = Ranking(order=np.array(order), context=context, strategy="cosine", cosine=scores)
    return replace(run, index=index or run.index, ranking=ranking)


def long_run(context: tuple[int, ...]) -> Run:
    passages = tuple(
        Passage(text=f"passage {n} " * 4, place=Place(page=samples.KEY, start=n, end=n + 1)) for n in range(6)
    )
    index = Index(passages=passages, vectors=None, question=None, embedder="x")
    sources = tuple(
        Source(number=n, passage=passages[row], title="One", url=samples.KEY)
        for n, row in enumerate(context, 1)
    )
    return replace(ranked(finished(), list(range(6)), context, index), sources=sources)


def test_changes_name_who_entered_left_and_moved() -> None:
    answered = long_run((0, 1, 2))
    told = context_diff(answered, ranked(answered, [2, 0, 3, 1, 4, 5], (2, 0, 3)))
    assert told is not None
    assert (told.entered, told.left, told.moved, told.common) == ((3,), (2,), ((3, 1), (1, 2)), 2)
    assert (told.reused, told.computed, told.rechunked) == (6, 0, False)


def test_the_answers_own_ranking_changes_nothing() -> None:
    answered = long_run((0, 1))
    told = context_diff(answered, answered)
    assert told is not None
    assert told.same_context
    assert not context_differs(answered, answered)


def test_the_same_sources_in_another_order_are_another_context() -> None:
    answered = long_run((0, 1))
    assert context_differs(answered, ranked(answered, [1, 0, 2, 3, 4, 5], (1, 0)))


def test_passages_cut_anew_tell_which_vectors_were_reused() -> None:
    answered = long_run((0,))
    knobs = replace(answered.knobs, chunk=ChunkKnobs(size=300))
    told = context_diff(answered, replace(answered, knobs=knobs, vectors_reused=2, vectors_computed=7))
    assert told is not None
    assert (told.rechunked, told.reused, told.computed) == (True, 2, 7)


def test_tokens_of_context_are_a_quarter_of_its_characters() -> None:
    answered = long_run((0, 1))
    told = context_diff(answered, answered)
    assert told is not None
    assert told.tokens == 20
