"""Runs that hold next to nothing, nothing but copies, or very much: every analysis has something to say."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from core.analysis.answers.attribution import attribution
from core.analysis.embedding_map.embedding_map import embedding_map
from core.analysis.rankings.ablation import without_pages, without_query
from core.analysis.rankings.duplicate_clusters import duplicate_clusters
from core.analysis.rankings.null_distribution import null_distribution
from core.analysis.rankings.ranking_comparison import compare_rankings
from core.analysis.retrieval.attrition import AttritionStep, attrition
from core.analysis.retrieval.flow_diagram import flow_items
from core.analysis.retrieval.query_contributions import contributions, query_overlap
from core.analysis.retrieval.trace import absence_from_answer
from core.config.knobs import RankKnobs, Strategy
from core.model import Article, Hit, Index, Page, Passage, Place
from core.run.state import Run
from core.stages.rank import rank
from tests.analysis.sample import run_of
from tests.growth import LINEAR, growth
from tests.stages.fakes import WordEmbed

STRANGE: dict[str, Callable[[], Run]] = {
    "nothing at all": Run,
    "no passages": lambda: run_of({}, answer="Nothing to cite [1]."),
    "one passage": lambda: run_of({"https://a.example/": "A boat."}, answer="A boat [1]."),
    "identical passages": lambda: run_of(
        {f"https://{n}.example/": "The same boat." for n in range(5)}, answer="Same [1]."
    ),
    "a question without a word of the corpus": lambda: run_of(question="Xyzzy plugh?", answer="Boats [1]."),
    "the same by words alone": lambda: run_of(question="Xyzzy plugh?", strategy=Strategy.BM25),
    "a question of marks": lambda: run_of(question="?!…", strategy=Strategy.FUSED, diversity=0.5),
    "no vectors": lambda: without_vectors(run_of(answer="A boat [1].")),
    "a vector that is no number": lambda: broken_vector(run_of(answer="A boat [1].", diversity=0.3)),
    "an empty context": lambda: run_of(threshold=1.0, answer="Nothing."),
}


def without_vectors(run: Run) -> Run:
    assert run.index is not None
    index = replace(run.index, vectors=None, question=None)
    return replace(run, index=index, ranking=rank(run.question, index, run.knobs.rank))


def broken_vector(run: Run) -> Run:
    assert run.index is not None and run.index.vectors is not None
    vectors = run.index.vectors.copy()
    vectors[0] = np.nan
    index = replace(run.index, vectors=vectors)
    return replace(run, index=index, ranking=rank(run.question, index, run.knobs.rank))


@pytest.mark.parametrize("name", STRANGE)
async def test_every_analysis_takes_strange_runs(name: str) -> None:
    run = STRANGE[name]()
    embed = WordEmbed()
    flows = attrition(run)
    assert all(len(flow_items(run, flow)) == flow.count for flow in flows.flows)
    assert flows.counts[AttritionStep.HITS] == sum(len(reply.results) for reply in run.replies.values())
    assert duplicate_clusters(run).pages == len(run.pages)
    assert len(contributions(run)) == len(run.queries)
    assert (await query_overlap(run, embed)).shared.shape == (len(run.queries),) * 2
    assert len((await attribution(run, embed)).sentences) == len(run.check.sentences)
    for sought in ("A boat.", "https://a.example/boats", "Xyzzy"):
        assert absence_from_answer(run, sought).message
    distribution = await null_distribution(run, embed)
    assert distribution is None or np.isfinite([distribution.percentile_99, distribution.median]).all()
    projected = await embedding_map(run, embed)
    if projected is not None and run.index is not None:
        without_point = ~np.isfinite(projected.projection.points).all(axis=1)
        np.testing.assert_array_equal(np.flatnonzero(without_point), run.index.waiting)
    same = compare_rankings(run, run)
    assert same is None or same.overlap == pytest.approx(1)
    for key in run.pages:
        assert key not in without_pages(run, {key}).pages
    for query in run.queries:
        assert without_query(run, query.text).pages == {}


def large(count: int) -> Run:
    pages = {
        f"p{n}": Page(
            key=f"p{n}",
            url=f"https://{n}.example/",
            title=f"Page {n}",
            article=Article(text=" ".join(f"Boat {n} has lamp {m}." for m in range(50)), extractor="t"),
        )
        for n in range(count // 50)
    }
    passages = tuple(
        Passage(
            text=page.text[at * 18 : at * 18 + 17], place=Place(page=key, start=at * 18, end=at * 18 + 17)
        )
        for key, page in pages.items()
        for at in range(50)
    )
    vectors = np.random.default_rng(1).standard_normal((len(passages), 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index = Index(
        passages=passages, vectors=vectors, question=vectors[0], embedder="t", embedder_languages=("en",)
    )
    knobs = RankKnobs(strategy=Strategy.FUSED, diversity=0.2, per_cluster=3)
    hits = tuple(
        Hit(key=key, url=page.url, title=page.title, snippet="", found=(), score=0.1)
        for key, page in pages.items()
    )
    run = Run(question="Which boat has a lamp?", pages=pages, hits=hits, passages=passages, index=index)
    return replace(run, knobs=replace(run.knobs, rank=knobs), ranking=rank(run.question, index, knobs, pages))


@pytest.mark.slow
@pytest.mark.parametrize(
    "analysis",
    [
        lambda run: run.index and rank(run.question, run.index, run.knobs.rank, run.pages),
        lambda run: [flow_items(run, flow) for flow in attrition(run).flows],
        lambda run: absence_from_answer(run, "Boat 7 has lamp 31."),
        contributions,
        duplicate_clusters,
        lambda run: without_pages(run, {"p7"}),
    ],
    ids=["rank", "items of each flow", "why not", "what a query gave", "duplicates", "leave a page out"],
)
def test_no_analysis_exceeds_its_share_of_a_larger_run(analysis: Callable[[Run], object]) -> None:
    assert growth(large, analysis, 1_000, 10_000) < LINEAR
