from dataclasses import replace

import numpy as np
import pytest

from core.analysis.rankings.ablation import without_pages, without_query
from core.analysis.rankings.ranking_comparison import compare_rankings
from core.analysis.retrieval.query_contributions import Share, contributions, query_overlap, shared_hits
from core.errors import EmbedFailed
from core.model import SkipReason
from core.run.events import QueryFailed
from core.run.state import Run
from tests.analysis.sample import run_of
from tests.stages.fakes import NoEmbed, WordEmbed

A, B, C, GONE = "https://a.example/boats", "https://b.example/lamps", "https://c.example/clouds", "https://g/"
FOUND = {"red boats": [A, C], "boats on rivers": [A, GONE], "paper lamps": [B]}
RUN = run_of(found=FOUND, skipped={GONE: SkipReason.STATUS}, answer="A boat [1]. Lamps [3].")


def test_each_query_has_its_share_and_its_unique_pages() -> None:
    boats, rivers, lamps = contributions(RUN)
    assert (boats.query.text, boats.results) == ("red boats", 2)
    assert (boats.hits, boats.pages, boats.context) == (Share(total=2, unique=1),) * 3
    assert (rivers.hits, rivers.pages) == (Share(total=2, unique=1), Share(total=1, unique=0))
    assert (boats.cited, rivers.cited) == (Share(total=1, unique=0),) * 2
    assert lamps.cited == Share(total=1, unique=1)
    assert lamps.passages == Share(total=1, unique=1)


def test_query_tells_missing_engines_and_why_it_failed() -> None:
    first, second, _ = RUN.queries
    lacking = replace(RUN.replies[first], unknown_engines=("gogle",))
    faults = {second: QueryFailed(second, "SearXNG did not answer.")}
    run = replace(RUN, replies={**RUN.replies, first: lacking}, search_faults=faults)
    notes = [contribution.note for contribution in contributions(run)]
    assert notes == ["No engine or category is named gogle.", "SearXNG did not answer.", ""]


def test_query_in_another_language_than_the_question_says_so() -> None:
    queries = ["red boats", "Wie fahren Boote auf dem Fluss?", "红色的船"]
    run = replace(run_of(found={query: [A] for query in queries}), question="How do boats sail on the river?")
    assert [row.note for row in contributions(run)] == ["", "In German.", "In Chinese."]


def test_text_on_two_pages_belongs_to_both_queries() -> None:
    same = "The same boat on the same river."
    run = run_of({A: same, B: same}, found={"one": [A], "two": [B]})
    one, two = contributions(run)
    assert one.context == two.context == Share(total=1, unique=0)


async def test_redundancy_shows_shared_hits_and_shared_meaning() -> None:
    overlap = await query_overlap(RUN, WordEmbed())
    assert overlap.shared[0, 1] == pytest.approx(1 / 3)
    assert overlap.shared[0, 2] == 0
    assert overlap.cosine[0, 1] > overlap.cosine[0, 2]
    for matrix in (overlap.shared, overlap.cosine):
        np.testing.assert_allclose(np.diag(matrix), 1, atol=1e-6)
        np.testing.assert_allclose(matrix, matrix.T)
    with pytest.raises(EmbedFailed):
        await query_overlap(RUN, NoEmbed())


async def test_a_run_without_queries_has_empty_matrices() -> None:
    overlap = await query_overlap(Run(question="?"), WordEmbed())
    assert overlap.shared.shape == overlap.cosine.shape == (0, 0)
    assert contributions(Run(question="?")) == ()


def test_removing_a_query_keeps_shared_pages() -> None:
    rest = without_query(RUN, "red boats")
    assert [query.text for query in rest.queries] == ["boats on rivers", "paper lamps"]
    assert set(rest.pages) == {A, B}
    assert {hit.key for hit in rest.hits} == {A, GONE.rstrip("/"), B}
    assert rest.index is not None and rest.index.vectors is not None and rest.ranking is not None
    assert len(rest.index.vectors) == len(rest.index.passages) == len(rest.ranking.order) == 2
    assert rest.sources == RUN.sources, "the answer keeps its sources"
    diff = compare_rankings(RUN, rest)
    assert diff is not None
    assert [change.site for change in diff.changes if change.left] == ["c.example"]


def test_without_every_query_nothing_is_left_to_rank() -> None:
    rest = RUN
    for query in FOUND:
        rest = without_query(rest, query)
    assert rest.hits == ()
    assert rest.index is not None and rest.ranking is not None
    assert rest.index.passages == rest.ranking.context == ()
    assert shared_hits(rest).shape == (0, 0)


def test_duplicated_text_stays_as_a_passage_of_another_page() -> None:
    same = "The same boat on the same river."
    run = run_of({A: same, B: same, C: "Clouds."})
    rest = without_pages(run, {A})
    assert rest.index is not None
    assert {passage.place.page for passage in rest.index.passages} == {B, C}
    assert all(not passage.also for passage in rest.index.passages)
    assert without_pages(run, set()).index is not None


def test_a_query_that_is_not_there_takes_nothing_away() -> None:
    rest = without_query(RUN, "never searched")
    diff = compare_rankings(RUN, rest)
    assert diff is not None
    assert diff.overlap == pytest.approx(1)
    assert rest.pages == RUN.pages
