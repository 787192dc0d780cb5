"""Stop in every phase: what is in hand is ranked, what is written stays, and the store has the same."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from core.analysis.progress import PageOutcome, PhaseState, hit_progress, phase_progress, retriable
from core.analysis.run_activity import answer_offer
from core.config.knobs import (
    ChunkKnobs,
    EmbedKnobs,
    Knobs,
    PlanKnobs,
    RankKnobs,
    ReadKnobs,
    SearchKnobs,
    Strategy,
)
from core.errors import BadInput
from core.model import Phase
from core.run.codec import run_to_json
from core.run.importer import run_from_json
from core.run.state import Run, RunStatus
from core.runtime.registry import RunRegistry
from core.stages.partial_results import NOT_RERANKED
from tests.faults.world import Site
from tests.features.api.conftest import settings
from tests.runtime.waiting import until
from tests.services.loopback import Gate, Loopback, Reply, Request, html_reply
from tests.services.openai_server import EMBEDDER, MODEL, FakeOpenAI, failure, streamed

pytestmark = pytest.mark.slow

QUESTION = "What do kettles do?"
KNOBS = Knobs(
    plan=PlanKnobs(queries=1),
    search=SearchKnobs(backend="searxng"),
    read=ReadKnobs(page_timeout=30, early_cut_percent=0, robots=False),
    chunk=ChunkKnobs(size=120, overlap=0),
    embed=EmbedKnobs(in_flight=1, batch=2),
)
VESSELS = ("kettle", "pot", "pan")


def page(vessel: str) -> Reply:
    """A page of four paragraphs, each of which becomes a passage of its own."""
    uses = (
        "boils water for tea",
        "stands on the stove all day",
        "whistles when it is hot",
        "is made of steel",
    )
    paragraphs = "".join(
        f"<p>A {vessel} {use}, and what it does there depends on the {vessel} and on the cook alone.</p>"
        for use in uses
    )
    return html_reply(f"<html><head><title>{vessel}</title></head><body>{paragraphs}</body></html>")


class Reranker(Loopback):
    """A reranker that answers nobody before its gate is open."""

    def __init__(self) -> None:
        self.gate = Gate()
        super().__init__(self._reply)

    async def _reply(self, _: Request) -> Reply:
        return Reply((self.gate, b"{}"))


class World:
    """The registry of runs, and the servers that a test can hold."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.site = stack.enter_context(Site())
        self.model = stack.enter_context(FakeOpenAI())
        self.reranker = stack.enter_context(Reranker())
        for number, vessel in enumerate(VESSELS, 1):
            self.site.pages[number] = page(vessel)
        self.runs = RunRegistry(
            settings(
                folder,
                searxng_url=self.site.url,
                fetch_allowlist=f"127.0.0.1:{self.site.port}",
                base_url=self.model.base_url,
                chat_model=MODEL,
                embedding_model=EMBEDDER,
                rerank_url=f"{self.reranker.url}/rerank",
                runs_at_once=1,
            )
        )
        stack.callback(self.runs.close)

    def start(self, knobs: Knobs = KNOBS) -> str:
        return self.runs.start(QUESTION, knobs)

    def run(self, run_id: str) -> Run:
        run = self.runs.get(run_id)
        assert run is not None
        return run

    def finished(self, knobs: Knobs = KNOBS) -> Run:
        run_id = self.start(knobs)
        until(lambda: not self.run(run_id).live)
        run = self.run(run_id)
        assert run.status is RunStatus.DONE, run.error
        return run

    def stopped(self, run_id: str, gate: Gate | None = None) -> Run:
        """The run after Stop, which is also what is read from the store."""
        self.runs.stop(run_id)
        if gate:
            gate.open()
        until(lambda: not self.run(run_id).live)
        run = self.run(run_id)
        stored = self.runs.store.load(run_id)
        assert stored is not None
        assert (stored.status, stored.text, stored.answer) == (run.status, run.text, run.answer)
        assert ranked_texts(stored) == ranked_texts(run)
        assert answer_offer(stored) == answer_offer(run)
        return run


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path, stack)


def ranked_texts(run: Run) -> list[str]:
    """The ranked passages, best first."""
    if run.index is None or run.ranking is None:
        return []
    return [run.index.passages[row].text for row in run.ranking.order.tolist()]


def answered_now(world: World, run_id: str) -> Run:
    """The run once the offer to answer from what is in hand was taken."""
    before = world.run(run_id)
    world.runs.answer_again(run_id)
    until(lambda: world.run(run_id) is not before and not world.run(run_id).live)
    run = world.run(run_id)
    assert run.status is RunStatus.DONE, run.error
    assert run.answer is not None and run.answer.complete
    return run


def test_queued_run_stopped_asks_nothing_and_is_in_history(world: World) -> None:
    gate = Gate()
    world.model.chats.append(streamed("Half. ", gate, "More."))
    first = world.start()
    gate.wait_reached()
    waiting = world.start()
    assert world.runs.queued() == (waiting,)
    run = world.stopped(waiting, gate)
    assert (run.status, run.question, run.queries) == (RunStatus.STOPPED, QUESTION, ())
    assert answer_offer(run) is None
    until(lambda: not world.run(first).live)
    assert {line.id for line in world.runs.history()} == {first, waiting}


def test_while_planning_there_is_nothing_in_hand(world: World) -> None:
    gate = Gate()
    world.model.chats.append(streamed(gate, "kettles"))
    run_id = world.start(replace(KNOBS, plan=PlanKnobs(queries=3)))
    gate.wait_reached()
    run = world.stopped(run_id, gate)
    assert run.status is RunStatus.STOPPED
    assert (run.index, run.ranking, answer_offer(run)) == (None, None, None)
    with pytest.raises(BadInput) as refused:
        world.runs.answer_again(run_id)
    assert refused.value.hint


def test_while_searching_the_query_stays(world: World) -> None:
    gate = Gate()
    world.site.searches.append(Reply((gate, b"{}")))
    run_id = world.start()
    gate.wait_reached()
    run = world.stopped(run_id, gate)
    assert [query.text for query in run.queries] == [QUESTION]
    assert answer_offer(run) is None


def stopped_while_reading(world: World) -> Run:
    """A run that was stopped when two of its three pages were read and embedded."""
    gate = Gate()
    world.site.pages[3] = Reply((gate, b"late"), content_type="text/html")
    run_id = world.start()
    gate.wait_reached()
    until(lambda: len(world.run(run_id).live_cosine) == 8)
    return world.stopped(run_id, gate)


def test_stopped_while_reading_ranks_and_answers_from_read_pages(world: World) -> None:
    run = stopped_while_reading(world)
    assert len(ranked_texts(run)) == 8
    assert run.ranking is not None and run.ranking.strategy == Strategy.FUSED
    assert [line.outcome for line in hit_progress(run)].count(PageOutcome.UNREAD) == 1
    assert len(retriable(run)) == 1
    offer = answer_offer(run)
    assert offer is not None and (offer.pages, offer.hits, offer.ranked) == (2, 3, 8)
    again = answered_now(world, run.id)
    assert len(again.pages) == 2, "no page is fetched for it"
    assert answer_offer(again) is None


def test_while_embedding_the_passages_with_a_vector_are_ranked(world: World) -> None:
    gate = Gate()
    world.model.embeddings.extend([None, None, None, Reply((gate, b"{}"))])
    run_id = world.start()
    gate.wait_reached()
    until(lambda: len(world.run(run_id).passages) == 12)
    run = world.stopped(run_id, gate)
    assert run.index is not None and run.index.vectors is not None
    assert len(ranked_texts(run)) == len(run.live_cosine) == 4
    assert len(run.index.not_embedded) == 8
    steps = {step.phase: step for step in phase_progress(run, run.seconds)}
    assert (steps[Phase.EMBED].count, steps[Phase.EMBED].unit) == ("4", "of 12")
    assert steps[Phase.EMBED].state is PhaseState.CUT
    requests = len(world.model.embedding_requests)
    again = answered_now(world, run_id)
    assert len(world.model.embedding_requests) == requests, "nothing more is embedded for the answer"
    assert {source.passage.text for source in again.sources} <= set(ranked_texts(run))


def test_without_any_vector_the_passages_are_ranked_by_bm25(world: World) -> None:
    gate = Gate()
    world.model.embeddings.extend([Reply((gate, b"{}"))] * 2)
    run_id = world.start()
    gate.wait_reached()
    until(lambda: len(world.run(run_id).passages) == 12)
    run = world.stopped(run_id, gate)
    assert run.ranking is not None and run.ranking.strategy == Strategy.BM25
    assert len(ranked_texts(run)) == 12
    assert "kettle" in ranked_texts(run)[0]
    offer = answer_offer(run)
    assert offer is not None and (offer.pages, offer.hits) == (3, 3)


def test_stopped_while_reranking_keeps_the_former_order(world: World) -> None:
    run_id = world.start(replace(KNOBS, rank=RankKnobs(rerank=True)))
    world.reranker.gate.wait_reached()
    run = world.stopped(run_id, world.reranker.gate)
    assert run.ranking is not None and run.ranking.strategy == Strategy.FUSED
    assert len(ranked_texts(run)) == 12
    assert NOT_RERANKED in [note.message for note in run.notes]


def test_stopped_while_answering_keeps_a_partial_answer_with_sources(world: World) -> None:
    gate = Gate()
    world.model.chats.append(streamed("Half [1]. ", gate, "More."))
    run_id = world.start()
    until(lambda: world.run(run_id).text)
    run = world.stopped(run_id, gate)
    assert run.status is RunStatus.STOPPED
    assert run.answer is not None and not run.answer.complete
    assert (run.answer.text.strip(), run.check.cited) == ("Half [1].", (1,))
    assert run.sources
    again = answered_now(world, run_id)
    assert [version.answer.text.strip() for version in again.earlier_answers] == ["Half [1]."]


def test_stopped_new_answer_restores_the_former_unless_it_began(
    world: World,
) -> None:
    first, second = Gate(), Gate()
    done = world.finished()
    for gate, text in ((first, ""), (second, "New [1]. ")):
        world.model.chats.append(streamed(text, gate, "More."))
        world.runs.answer_again(done.id)
        gate.wait_reached()
        if text:
            until(lambda: world.run(done.id).text.startswith("New"))
        run = world.stopped(done.id, gate)
        if not text:
            assert (run.status, run.answer, run.sources) == (RunStatus.DONE, done.answer, done.sources)
            assert run.earlier_answers == ()
    assert run.status is RunStatus.STOPPED
    assert run.answer is not None and run.answer.text.startswith("New")
    assert [version.answer for version in run.earlier_answers] == [done.answer]


def held_retuning(world: World, run: Run, knobs: Knobs, session_id: str = "session") -> Gate:
    """A retuning that has embedded its first batch, and waits at the gate with its second."""
    gate = Gate()
    world.model.embeddings.extend([None, Reply((gate, b"{}"))])
    job = world.runs.retuning.start(session_id, run.id, knobs)
    assert job is not None
    gate.wait_reached()
    until(lambda: len(job.run.live_cosine) == 2)
    return gate


def test_while_retuning_the_ranking_before_it_returns(world: World) -> None:
    done = world.finished()
    knobs = replace(KNOBS, chunk=ChunkKnobs(size=100, overlap=0))
    gate = held_retuning(world, done, knobs)
    job = world.runs.retuning.start("session", done.id, knobs)
    assert job is not None and job.pending
    assert job.run.last_complete is done, "what is shown is of one piece"
    assert len(job.run.passages) > len(done.passages)
    world.runs.retuning.stop("session")
    gate.open()
    until(lambda: not job.live)
    assert job.was_cancelled
    assert job.run.knobs == done.knobs
    assert world.runs.retuning.start("session", done.id, knobs) is job, (
        "what was stopped does not begin again by itself"
    )
    assert (job.run.index, job.run.ranking, job.run.passages) == (done.index, done.ranking, done.passages)
    assert job.run.timeline.phases == done.timeline.phases
    assert world.run(done.id) is done
    world.runs.retuning.stop("nobody")


def test_bm25_does_not_wait_for_vectors_of_other_passages(world: World) -> None:
    done = world.finished()
    knobs = replace(
        KNOBS, chunk=ChunkKnobs(size=100, overlap=0), rank=RankKnobs(strategy=Strategy.BM25, top_k=3)
    )
    gate = held_retuning(world, done, knobs)
    job = world.runs.retuning.start("session", done.id, knobs)
    assert job is not None
    until(lambda: job.run.last_complete is not done)
    early = job.run.last_complete
    assert job.pending
    assert early.index is not None and early.index.vectors is None
    assert len(ranked_texts(early)) == len(early.passages) > len(done.passages)
    world.runs.retuning.stop("session")
    gate.open()
    until(lambda: not job.live)
    assert not job.was_cancelled
    assert job.run.knobs == knobs
    assert ranked_texts(job.run) == ranked_texts(early), "the ranking that is there is not taken back"
    again = world.runs.retuning.start("other", done.id, knobs)
    assert again is not None
    until(lambda: not again.live)
    assert again.run.index is not None and again.run.index.vectors is not None
    assert ranked_texts(again.run) == ranked_texts(early)


def test_two_viewers_of_a_run_have_their_own_rankings(world: World) -> None:
    done = world.finished()
    sizes = {"left": 100, "right": 110}
    knobs = {
        session_id: replace(KNOBS, chunk=ChunkKnobs(size=size, overlap=0))
        for session_id, size in sizes.items()
    }
    gate = held_retuning(world, done, knobs["left"], "left")
    right = world.runs.retuning.start("right", done.id, knobs["right"])
    assert right is not None
    until(lambda: not right.live)
    left = world.runs.retuning.start("left", done.id, knobs["left"])
    assert left is not None and left.pending
    gate.open()
    until(lambda: not left.live)
    assert {left.run.knobs.chunk.size, right.run.knobs.chunk.size} == set(sizes.values())
    assert right.run.status is RunStatus.DONE


def test_rate_limit_is_told_in_its_phase(world: World) -> None:
    world.model.chats.extend(
        [
            failure(429, retry_after="0.01"),
            streamed("kettles\npots"),
            failure(429, retry_after="0.02"),
            streamed("[1]"),
        ]
    )
    world.model.embeddings.extend([None, failure(429, retry_after="0.03"), failure(429, retry_after="0.03")])
    run = world.finished(replace(KNOBS, plan=PlanKnobs(queries=2)))
    waits = {(wait.phase, wait.reason) for wait in run.timeline.waits}
    assert waits == {(phase, "rate limit") for phase in (Phase.PLAN, Phase.EMBED, Phase.ANSWER)}
    stored = world.runs.store.load(run.id)
    assert stored is not None and stored.timeline.waits == run.timeline.waits
    assert run_from_json(run_to_json(run)).timeline.waits == run.timeline.waits


def test_ranking_of_other_pages_returns_while_more_are_embedded(world: World) -> None:
    first = stopped_while_reading(world)
    run_id = first.id
    world.site.pages[3] = page("pan")
    gate = Gate()
    world.model.embeddings.extend([Reply((gate, b"{}"))] * 3)
    world.runs.read_more(run_id, retriable(first))
    gate.wait_reached()
    run = world.stopped(run_id, gate)
    assert run.status is RunStatus.STOPPED
    assert ranked_texts(run) == ranked_texts(first)
    assert len(run.pages) == 3, "the page that was read stays"
    world.model.embeddings.clear()
    again = answered_now(world, run_id)
    assert len(again.pages) == 3
