"""Answers beside a run, and rankings by another embedder: the run itself keeps what it has."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr

from core.config.access import Access
from core.config.knobs import Knobs, PlanKnobs, SearchKnobs
from core.config.settings import Settings
from core.errors import LimitReached
from core.run.state import Run, RunStatus
from core.runtime.jobs import Job
from core.runtime.registry import RunRegistry
from tests.runtime.waiting import until
from tests.services.loopback import Gate
from tests.services.openai_server import FakeOpenAI, streamed

pytestmark = pytest.mark.slow


DEMO = Knobs(search=SearchKnobs(backend="demo"), plan=PlanKnobs(queries=1))


@pytest.fixture
def runs(warm_folder: Path, fake_openai: FakeOpenAI) -> Iterator[RunRegistry]:
    settings = Settings(
        data=warm_folder,
        ollama_url="",
        base_url=fake_openai.base_url,
        chat_model="fake-chat",
        tokens_per_day=10_000,
        workers=1,
    )
    runs = RunRegistry(settings)
    yield runs
    runs.close()


def finished(runs: RunRegistry) -> Run:
    run_id = runs.start("How does chunk overlap affect retrieval?", DEMO)
    until(lambda: (run := runs.get(run_id)) is not None and not run.live)
    run = runs.get(run_id)
    assert run is not None and run.status is RunStatus.DONE
    return run


def ended(job: Job | None) -> Run:
    assert job is not None
    until(lambda: not job.live)
    return job.run


def test_answer_beside_a_run_streams_without_changing_it(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    run = finished(runs)
    gate = Gate()
    fake_openai.chats.append(streamed("Overlap ", gate, "helps [1]."))
    job = runs.side_answers.answer("anna", run)
    until(lambda: job.run.text == "Overlap ")
    assert job.run.live
    gate.open()
    beside = ended(job)
    assert beside.answer is not None and beside.answer.text == "Overlap helps [1]."
    assert (beside.check.cited, beside.earlier_answers) == ((1,), ())
    assert runs.get(run.id) is run
    assert runs.side_answers.get("anna") is job
    assert runs.side_answers.get("berta") is None


def test_second_request_ends_the_first_and_stopping_keeps_text(
    runs: RunRegistry, fake_openai: FakeOpenAI
) -> None:
    run = finished(runs)
    gates = Gate(), Gate()
    fake_openai.chats.append(streamed("First ", gates[0], "never."))
    fake_openai.chats.append(streamed("Second ", gates[1], "never."))
    first = runs.side_answers.answer("anna", run)
    until(lambda: first.run.text == "First ")
    second = runs.side_answers.answer("anna", run)
    assert ended(first).status is RunStatus.STOPPED
    until(lambda: second.run.text == "Second ")
    runs.side_answers.stop("anna")
    assert ended(second).status is RunStatus.STOPPED
    assert second.run.text == "Second "
    for gate in gates:
        gate.open()


def test_a_visitors_model_writes_the_answer_beside(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    run = finished(runs)
    fake_openai.chats.append(streamed("Said by another."))
    job = runs.side_answers.answer("anna", run, Access(chat_model="other-chat"))
    answer = ended(job).answer
    assert answer is not None and answer.text == "Said by another."
    assert fake_openai.chat_requests[-1].json["model"] == "other-chat"


def test_tokens_of_an_answer_beside_are_its_askers(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    run = finished(runs)
    fake_openai.chats.append(streamed("Long.", usage=(9_000, 2_000)))
    ended(runs.side_answers.answer("anna", run, access=Access(quota_subject="anna")))
    with pytest.raises(LimitReached):
        runs.side_answers.answer("anna", run, access=Access(quota_subject="anna"))
    ended(runs.side_answers.answer("berta", run, access=Access(quota_subject="berta")))


def test_another_embedder_ranks_the_pages_in_hand(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    run = finished(runs)
    other = Access(embedding_model="fake-embed")
    tuned = ended(runs.retuning.start("anna", run.id, run.knobs, other))
    assert tuned.index is not None and tuned.index.vectors is not None
    assert tuned.index.vectors.shape[1] == fake_openai.width
    assert run.index is not None and run.index.vectors is not None
    assert run.index.vectors.shape[1] != fake_openai.width
    assert [page.text for page in tuned.ranked_pages] == [page.text for page in run.ranked_pages]
    assert runs.retuning.start("anna", run.id, run.knobs, other) is runs.retuning.start(
        "anna", run.id, run.knobs, other
    )
    back = runs.retuning.start("anna", run.id, run.knobs)
    assert back is not None and back.run is run
    fewer = Knobs.parse({"search": {"backend": "demo"}, "rank": {"top_k": 2}})
    own = ended(runs.retuning.start("anna", run.id, fewer))
    assert own.index is not None and np.array_equal(own.index.vectors, run.index.vectors)  # type: ignore[arg-type]


def test_missing_embedder_leaves_words_and_says_so(runs: RunRegistry) -> None:
    run = finished(runs)
    nowhere = Access(
        base_url="http://127.0.0.1:9/v1", api_key=SecretStr("k"), chat_model="m", embedding_model="x"
    )
    tuned = ended(runs.retuning.start("anna", run.id, run.knobs, nowhere))
    assert tuned.index is not None and tuned.index.vectors is None
    assert tuned.notes or tuned.embed_faults


def test_shared_server_sends_passages_only_to_the_operators_model(
    warm_folder: Path, fake_openai: FakeOpenAI
) -> None:
    settings = Settings(
        data=warm_folder, ollama_url="", base_url=fake_openai.base_url, chat_model="fake-chat", shared=True
    )
    runs = RunRegistry(settings)
    try:
        run = finished(runs)
        refused = ended(runs.retuning.start("anna", run.id, run.knobs, Access(embedding_model="dear-embed")))
        assert refused.error is not None
        assert "shared" in refused.error.message
        assert fake_openai.embedding_requests == []
        assert (
            ended(runs.retuning.start("anna", run.id, run.knobs, Access(embedding_model="local"))).error
            is None
        )
    finally:
        runs.close()
