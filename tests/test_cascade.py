"""An embedder on this machine begins with the passages that can enter the context; the rest is filled in."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from core.analysis.embedding_map.embedding_map import passage_projection
from core.analysis.run_activity import current_activity
from core.config.knobs import ChunkKnobs, EmbedKnobs, Knobs, RankKnobs, ReadKnobs, SearchKnobs, Strategy
from core.config.settings import Settings
from core.features.notebook.plots import map_plot
from core.features.share.run_parts import run_parts
from core.followups import complete, retune
from core.model import Author, Query
from core.pipeline import research
from core.ports import Ports
from core.run import events as e
from core.run.codec import run_to_json
from core.run.fold import folded_run
from core.run.importer import run_from_json
from core.run.recorded_run import RecordedRun
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from core.runtime.event_loop import new_loop
from core.stages.embedding.cascade import FIRST, early_budget
from core.storage.bundle import from_bundle, to_bundle
from tests.services.openai_server import vector
from tests.stages.fakes import FakeEmbed

QUESTION = "How does chunk overlap affect retrieval?"
KNOBS = Knobs(
    search=SearchKnobs(backend="demo", results=50),
    read=ReadKnobs(early_cut_percent=0),
    chunk=ChunkKnobs(size=100, overlap=0),
)


class Local(FakeEmbed):
    """Vectors of this machine, made of the words, with a gate that holds calls after so many texts."""

    identity, host, batch = "local", "", 32

    def __init__(self) -> None:
        self.embedded: list[str] = []
        self.most = 10**9
        self.stopped = asyncio.Event()

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(self.embedded) + len(texts) > self.most:
            self.stopped.set()
            await asyncio.Event().wait()
        self.embedded += texts
        return np.stack([vector(text, 128) for text in texts])


@pytest.fixture
async def ports(engine: Engine) -> Ports:
    return replace(await engine.ports(KNOBS), embed=Local(), chat=None)


@dataclass(frozen=True)
class Answered:
    """A run that was answered before all of its passages had a vector."""

    run: Run
    records: tuple[e.Record, ...]
    states: tuple[Run, ...]


@pytest.fixture(scope="module")
def answered(shared_warm_folder: Path) -> Answered:
    """One run for all tests that only look at it or go on from it. Runs never change."""
    heard: list[tuple[e.Record, Run]] = []

    async def ask() -> Run:
        async with Engine(Settings(data=shared_warm_folder, ollama_url="")) as engine:
            ports = replace(await engine.ports(KNOBS), embed=Local(), chat=None)
            return await research(QUESTION, KNOBS, ports, lambda record, state: heard.append((record, state)))

    with asyncio.Runner(loop_factory=new_loop) as runner:
        run = runner.run(ask())
    return Answered(run, tuple(record for record, _ in heard), tuple(state for _, state in heard))


def contexts(run: Run) -> list[str]:
    assert run.index is not None and run.ranking is not None
    return [run.index.passages[row].id for row in run.ranking.context]


def test_context_does_not_wait_for_passages_that_cannot_enter(answered: Answered) -> None:
    run, records = answered.run, answered.records
    assert run.status is RunStatus.DONE and run.index is not None and run.ranking is not None
    settling = folded_run(records[: 1 + [type(r.event) for r in records].index(e.Indexed)])
    assert current_activity(settling, settling.seconds).startswith("Embedding ")
    at_answer = folded_run(records[: 1 + [type(r.event) for r in records].index(e.SourcesChosen)])
    assert at_answer.index is not None
    waiting = len(at_answer.index.waiting)
    assert waiting > 0
    assert FIRST <= len(run.embedded_for_answer) == len(at_answer.index.passages) - waiting
    assert {source.passage.id for source in run.sources} <= set(run.embedded_for_answer)
    assert any(f"{len(run.embedded_for_answer):,} of" in notice.message for notice in run.notices)


async def test_same_pages_in_another_order_have_the_same_context(ports: Ports) -> None:
    runs = [await research(QUESTION, KNOBS, replace(ports, embed=Local())) for _ in range(2)]
    assert contexts(runs[0]) == contexts(runs[1])
    assert runs[0].embedded_for_answer == runs[1].embedded_for_answer


async def test_completing_ends_where_embedding_everything_first_does(
    ports: Ports, answered: Answered
) -> None:
    run = answered.run
    states: list[Run] = []
    whole = await complete(run, ports, lambda _, state: states.append(state))
    assert whole.index is not None and not len(whole.index.waiting)
    assert (whole.status, whole.seconds, whole.answer) == (RunStatus.DONE, run.seconds, run.answer)
    first = await research(QUESTION, replace(KNOBS, embed=EmbedKnobs(everything_first=True)), ports)
    assert first.index is not None and first.ranking is not None and whole.ranking is not None
    assert first.embedded_for_answer == ()
    np.testing.assert_array_equal(whole.index.vectors, first.index.vectors)
    np.testing.assert_array_equal(whole.ranking.order, first.ranking.order)


async def test_cancelled_filling_keeps_the_parts_that_are_there(ports: Ports, answered: Answered) -> None:
    run = answered.run
    assert run.index is not None
    embed = Local()
    embed.most = 300
    states = [run]
    filling = asyncio.create_task(
        complete(run, replace(ports, embed=embed), lambda _, state: states.append(state))
    )
    await asyncio.wait_for(embed.stopped.wait(), 60)
    filling.cancel()
    await asyncio.gather(filling, return_exceptions=True)
    last = states[-1]
    assert last.index is not None and last.ranking is not None and last.ranking.cosine is not None
    assert 0 < len(last.index.waiting) < len(run.index.waiting)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(last.ranking.cosine)), last.index.waiting)
    assert last.status is RunStatus.DONE


async def test_retuning_embeds_what_it_needs(ports: Ports, answered: Answered) -> None:
    run = answered.run
    assert run.index is not None
    more = await retune(run, replace(KNOBS, rank=RankKnobs(top_k=8)), ports)
    assert more.index is not None and len(contexts(more)) == 8
    by_cosine = await retune(run, replace(KNOBS, rank=RankKnobs(strategy=Strategy.COSINE)), ports)
    assert by_cosine.index is not None and not len(by_cosine.index.waiting)


def test_a_run_with_passages_that_wait_leaves_and_returns(answered: Answered) -> None:
    run = answered.run
    bundled = from_bundle(to_bundle(RecordedRun.folded(answered.records))).run
    imported = run_from_json(run_to_json(run, vectors=True))
    for copy in (bundled, imported):
        assert copy.index is not None and run.index is not None
        np.testing.assert_array_equal(copy.index.vectors, run.index.vectors)
        assert copy.embedded_for_answer == run.embedded_for_answer


def test_maps_of_files_and_notebooks_omit_waiting_passages(answered: Answered) -> None:
    run = answered.run
    assert run.index is not None and len(run.index.waiting)
    points = run_parts(run)["map"]["points"]
    assert [row for row, point in enumerate(points) if point is None] == run.index.waiting.tolist()
    embedded = len(run.index.passages) - len(run.index.waiting)
    assert f"{embedded} passages and the question" in repr(map_plot(run))


def test_map_can_be_drawn_while_answer_passages_wait_again(answered: Answered) -> None:
    run = answered.run
    assert run.index is not None and run.index.vectors is not None
    vectors = run.index.vectors.copy()
    row = next(row for row, passage in enumerate(run.index.passages) if passage.id in run.embedded_for_answer)
    vectors[row] = np.nan
    projected = passage_projection(replace(run.index, vectors=vectors), run.embedded_for_answer)
    assert projected is not None
    without_point = np.flatnonzero(np.isnan(projected.points[:, 0]))
    assert without_point.tolist() == sorted([row, *run.index.waiting.tolist()])


def test_limit_follows_the_share_of_first_passages_without_pages(answered: Answered) -> None:
    run, states = answered.run, answered.states
    hits = len(run.hits)
    assert hits > 4
    limits = {len(state.pages): early_budget(state) for state in states if state.hits}
    assert limits == {pages: FIRST * pages // hits for pages in range(hits + 1)}
    other = Query(text="Another query", author=Author.MODEL)
    assert early_budget(replace(run, queries=(*run.queries, other))) == FIRST // 2
    assert early_budget(states[0]) == 0


async def test_an_embedder_elsewhere_embeds_everything_first(ports: Ports) -> None:
    embed = Local()
    embed.host = "embeddings.example"
    run = await research(QUESTION, KNOBS, replace(ports, embed=embed))
    assert run.index is not None and not len(run.index.waiting) and not run.embedded_for_answer
