from dataclasses import replace

import numpy as np
import pytest

from core.analysis.rankings.context_diff import ContextDiff, context_diff, context_differs, kept_citations
from core.config.knobs import ChunkKnobs
from core.model import CitationCheck, Index, Passage, Phase, Place, Ranking, Retry, Sentence, Source
from core.run import events as e
from core.run.state import Run
from tests import samples
from tests.analysis.folded import finished


def follow_up(run: Run, *events: tuple[float, e.Event]) -> Run:
    """The finished run after these events, each with the seconds since the run had ended."""
    ended = run.seconds
    for seconds, event in events:
        run = run.apply(e.Record(at=ended + seconds, event=event))
    return run


def ranked(run: Run, order: list[int], context: tuple[int, ...], index: Index | None = None) -> Run:
    """The run, ranked once more in 5 ms."""
    scores = np.linspace(1, 0, len(order), dtype=np.float32)
    ranking = Ranking(order=np.array(order), context=context, strategy="cosine", cosine=scores)
    put = [(0.0, e.Indexed(index))] if index else []
    return follow_up(
        run,
        (0.0, e.RunResumed(run.knobs)),
        *put,
        (0.0, e.PhaseStarted(Phase.RANK)),
        (0.005, e.Ranked(ranking)),
        (0.005, e.PhaseEnded(Phase.RANK)),
        (0.005, e.RunDone()),
    )


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


def diff_of(answered: Run, tuned: Run) -> ContextDiff:
    diff = context_diff(answered, tuned)
    assert diff is not None
    return diff


def test_changes_name_who_entered_left_and_moved() -> None:
    answered = long_run((0, 1, 2))
    diff = diff_of(answered, ranked(answered, [2, 0, 3, 1, 4, 5], (2, 0, 3)))
    assert (diff.entered, diff.left, diff.moved) == ((3,), (2,), ((3, 1), (1, 2)))
    assert (diff.reused, diff.computed, diff.rechunked) == (6, 0, False)


@pytest.mark.parametrize(
    ("cites", "context", "told"),
    [
        ([(1,), (2, 3), (2,)], (2, 0, 3), "2 of 4 citations lose their passage."),
        ([(1,), (2,)], (2, 0, 3), "1 of 2 citations loses its passage."),
        ([(2,)], (0, 2, 3), "No citation keeps its passage."),
        ([(1,)], (0, 3, 4), "Every citation keeps its passage, 2 passages are new."),
        ([(1,)], (0,), "Every citation keeps its passage."),
        ([()], (0, 3, 4), "2 of 3 sources left the context."),
        ([()], (0, 1, 2, 4), "1 passage is new in the context."),
        ([()], (2, 1, 0), "Every source stays in the context."),
    ],
)
def test_citations_that_lose_their_passage_are_counted(
    cites: list[tuple[int, ...]], context: tuple[int, ...], told: str
) -> None:
    sentences = tuple(Sentence(text="One.", start=0, end=4, cites=numbers) for numbers in cites)
    answered = replace(long_run((0, 1, 2)), check=CitationCheck(sentences=sentences))
    assert kept_citations(answered, diff_of(answered, ranked(answered, [0, 1, 2, 3, 4, 5], context))) == told


def test_the_answers_own_ranking_changes_nothing() -> None:
    answered = long_run((0, 1))
    diff = diff_of(answered, answered)
    assert diff.same_context
    assert not context_differs(answered, answered)


def test_the_same_sources_in_another_order_are_another_context() -> None:
    answered = long_run((0, 1))
    assert context_differs(answered, ranked(answered, [1, 0, 2, 3, 4, 5], (1, 0)))


def chunked_again(run: Run, *between: tuple[float, e.Event]) -> Run:
    """The run with passages of another size: one vector reused, five computed, in 2.048 s."""
    assert run.index is not None and run.ranking is not None
    ids = tuple(passage.id for passage in run.index.passages)
    return follow_up(
        run,
        (0.0, e.RunResumed(replace(run.knobs, chunk=ChunkKnobs(size=300)))),
        (0.0, e.PhaseStarted(Phase.EMBED)),
        (0.01, e.PhaseStarted(Phase.CHUNK)),
        (0.02, e.PhaseEnded(Phase.CHUNK)),
        (0.03, e.EmbedStarted(1, len(ids))),
        *between,
        (2.0, e.Embedded(1, ids, (0.5,) * len(ids), 1)),
        (2.0, e.PhaseEnded(Phase.EMBED)),
        (2.0, e.Indexed(run.index)),
        (2.0, e.PhaseStarted(Phase.RANK)),
        (2.048, e.Ranked(run.ranking)),
        (2.048, e.PhaseEnded(Phase.RANK)),
        (2.048, e.RunDone()),
    )


def test_passages_cut_anew_tell_which_vectors_were_reused() -> None:
    answered = long_run((0,))
    diff = diff_of(answered, chunked_again(answered))
    assert (diff.rechunked, diff.reused, diff.computed) == (True, 1, 5)
    assert diff.milliseconds == pytest.approx(2048)


def test_the_figures_are_of_the_latest_change_alone() -> None:
    answered = long_run((0,))
    diff = diff_of(answered, ranked(chunked_again(answered), [2, 0, 3, 1, 4, 5], (2, 0)))
    assert (diff.rechunked, diff.reused, diff.computed) == (False, 6, 0)
    assert diff.milliseconds == pytest.approx(5)


def test_wait_for_the_next_attempt_is_not_counted() -> None:
    answered = long_run((0,))
    wait = e.ModelRetry(Phase.EMBED, Retry(server="h", seconds=1.5, reason="rate limit"), 1)
    diff = diff_of(answered, chunked_again(answered, (0.1, wait)))
    assert diff.milliseconds == pytest.approx(548)


def test_tokens_of_context_are_a_quarter_of_its_characters() -> None:
    answered = long_run((0, 1))
    diff = diff_of(answered, answered)
    assert diff.tokens == 21
