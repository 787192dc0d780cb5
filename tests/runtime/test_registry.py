"""Runs outlive whoever started them."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from core.config.access import Access
from core.config.knobs import ChunkKnobs, Knobs, PlanKnobs, RankKnobs, SearchKnobs
from core.config.settings import Settings
from core.errors import BadInput, StoreFailed, TookTooLong
from core.model import AnswerKind
from core.run.state import RunStatus
from core.runtime.job_table import IDLE_RUNS
from core.runtime.registry import RunRegistry
from core.storage.run_store import RunStore
from tests.runtime.waiting import until
from tests.services.loopback import Gate
from tests.services.openai_server import EMBEDDER, FakeOpenAI, streamed

pytestmark = pytest.mark.slow


QUESTION = "How does chunk overlap affect retrieval?"
DEMO = Knobs(search=SearchKnobs(backend="demo"), plan=PlanKnobs(queries=1))


@pytest.fixture
def runs(warm_folder: Path) -> Iterator[RunRegistry]:
    runs = RunRegistry(Settings(data=warm_folder, ollama_url="", runs_at_once=2))
    yield runs
    runs.close()


def _finished(runs: RunRegistry, run_id: str) -> bool:
    run = runs.get(run_id)
    return run is not None and not run.live


def test_run_finishes_by_itself_and_is_in_history(runs: RunRegistry) -> None:
    run_id = runs.start(QUESTION, DEMO)
    until(lambda: _finished(runs, run_id))
    run = runs.get(run_id)
    assert run is not None
    assert run.status is RunStatus.DONE
    assert [line.id for line in runs.history()] == [run_id]


def test_a_run_is_found_again_by_another_process(runs: RunRegistry, tmp_path: Path) -> None:
    run_id = runs.start(QUESTION, DEMO)
    until(lambda: _finished(runs, run_id))
    first = runs.get(run_id)
    runs.store.flush()
    other = RunRegistry(Settings(data=tmp_path, ollama_url=""))
    again = other.get(run_id)
    other.close()
    assert again is not None
    assert first is not None
    assert (again.text, again.sources) == (first.text, first.sources)


def test_ids_differ_and_an_unknown_one_is_nothing(runs: RunRegistry) -> None:
    ids = {runs.start(QUESTION, DEMO) for _ in range(3)}
    assert len(ids) == 3
    assert all(len(run_id) >= 20 for run_id in ids)
    assert runs.get("nobody") is None
    runs.stop("nobody")


async def _silent(ended: threading.Event) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended.set()


def test_work_without_an_answer_in_time_is_ended(runs: RunRegistry) -> None:
    ended = threading.Event()
    with pytest.raises(TookTooLong) as told:
        runs.call(_silent(ended), timeout=0.01)
    assert told.value.hint
    assert ended.wait(60)


def test_waiting_person_can_do_something_that_ends_the_work(runs: RunRegistry) -> None:
    ended = threading.Event()

    def leave() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        runs.call(_silent(ended), meanwhile=leave)
    assert ended.wait(60)


def test_a_bad_question_starts_nothing(runs: RunRegistry) -> None:
    with pytest.raises(BadInput):
        runs.start(" ", DEMO)
    assert runs.history() == ()


def test_stop_ends_a_run_and_keeps_its_text(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.chats.append(streamed("Half [1]. ", gate, "More."))
    access = Access(base_url=fake_openai.base_url, api_key=SecretStr("k"), chat_model="m")
    run_id = runs.start(QUESTION, DEMO, access)
    until(lambda: (run := runs.get(run_id)) and run.text)
    runs.stop(run_id)
    run = runs.get(run_id)
    gate.open()
    assert run is not None
    assert run.status is RunStatus.STOPPED
    assert run.text.startswith("Half")


def test_runs_beyond_the_limit_wait_their_turn(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    gates = [Gate(), Gate()]
    fake_openai.chats.extend(streamed("Half. ", gate, "More.") for gate in gates)
    access = Access(base_url=fake_openai.base_url, api_key=SecretStr("k"), chat_model="m")
    first, second = runs.start(QUESTION, DEMO, access), runs.start(QUESTION, DEMO, access)
    for gate in gates:
        gate.wait_reached()
    third = runs.start(QUESTION, DEMO)
    assert runs.queued() == (third,)
    waiting = runs.get(third)
    assert waiting is not None
    assert waiting.status is RunStatus.QUEUED
    for gate in gates:
        gate.open()
    until(lambda: all(_finished(runs, run_id) for run_id in (first, second, third)))
    assert runs.queued() == ()


def test_tuning_keeps_the_run_and_equal_requests_share_a_job(runs: RunRegistry) -> None:
    run_id = runs.start(QUESTION, DEMO)
    until(lambda: _finished(runs, run_id))
    before = runs.get(run_id)
    assert before is not None
    knobs = replace(DEMO, rank=RankKnobs(top_k=2), chunk=ChunkKnobs(size=300))
    job = runs.retuning.start("session", run_id, knobs)
    assert job is not None
    assert runs.retuning.start("session", run_id, knobs) is job
    until(lambda: not job.live)
    assert job.run.ranking is not None
    assert len(job.run.ranking.context) == 2
    assert runs.get(run_id) is before
    undone = runs.retuning.start("session", run_id, DEMO)
    assert undone is not None
    assert undone.run is before


def test_a_newer_request_cancels_the_tuning_under_way(runs: RunRegistry) -> None:
    run_id = runs.start(QUESTION, DEMO)
    until(lambda: _finished(runs, run_id))
    jobs = [
        runs.retuning.start("session", run_id, replace(DEMO, chunk=ChunkKnobs(size=size)))
        for size in (150, 170, 190)
    ]
    last = jobs[-1]
    assert last is not None
    until(lambda: not any(job and job.live for job in jobs))
    assert last.run.status is RunStatus.DONE
    assert last.run.knobs.chunk.size == 190
    assert any(
        job and (job.run.status is RunStatus.STOPPED or job.run.knobs != job.target_knobs)
        for job in jobs[:-1]
    )


def test_a_tuning_follows_its_run_when_pages_are_added(runs: RunRegistry) -> None:
    run_id = runs.start(QUESTION, DEMO)
    until(lambda: _finished(runs, run_id))
    two, three = (replace(DEMO, rank=RankKnobs(top_k=top_k)) for top_k in (2, 3))
    old = runs.retuning.start("session", run_id, two)
    assert old is not None
    until(lambda: not old.live)
    runs.search_more(run_id, "robots and crawling")
    until(lambda: _finished(runs, run_id) and (run := runs.get(run_id)) and len(run.queries) == 2)
    grown = runs.get(run_id)
    assert grown is not None and grown.index is not None
    assert len(grown.pages) > len(old.run.pages)
    for knobs in (two, three):
        job = runs.retuning.start("session", run_id, knobs)
        assert job is not None
        until(lambda job=job: not job.live)
        assert job.run.pages == grown.pages
        assert job.run.index is not None
        assert len(job.run.index.passages) == len(grown.index.passages)


def test_no_answer_is_written_from_a_ranking_of_former_pages(runs: RunRegistry) -> None:
    run_id = runs.start(QUESTION, DEMO)
    until(lambda: _finished(runs, run_id))
    old = runs.retuning.start("session", run_id, replace(DEMO, rank=RankKnobs(top_k=2)))
    assert old is not None
    until(lambda: not old.live)
    runs.search_more(run_id, "robots and crawling")
    until(lambda: _finished(runs, run_id) and (run := runs.get(run_id)) and len(run.queries) == 2)
    grown = runs.get(run_id)
    with pytest.raises(BadInput) as refused:
        runs.answer_again(run_id, old.run)
    assert refused.value.hint
    assert runs.get(run_id) is grown
    new = runs.retuning.start("session", run_id, old.target_knobs)
    assert new is not None
    until(lambda: not new.live)
    runs.answer_again(run_id, new.run)
    until(lambda: _finished(runs, run_id) and (run := runs.get(run_id)) and run.earlier_answers)


def test_person_who_continues_a_run_uses_their_own_key(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.extend([streamed("One [1]."), streamed("Two [1].")])
    anna, berta = (
        Access(base_url=fake_openai.base_url, api_key=SecretStr(key), chat_model="m")
        for key in ("annas", "bertas")
    )
    run_id = runs.start(QUESTION, DEMO, anna)
    until(lambda: _finished(runs, run_id))
    for count, access in ((1, berta), (2, Access())):
        runs.answer_again(run_id, access=access)
        until(
            lambda count=count: (
                _finished(runs, run_id) and (run := runs.get(run_id)) and len(run.earlier_answers) == count
            )
        )
    keys = [request.headers["authorization"] for request in fake_openai.chat_requests]
    assert keys == ["Bearer annas", "Bearer bertas"]
    last = runs.get(run_id)
    assert last is not None and last.answer is not None
    assert last.answer.kind is AnswerKind.EXTRACTIVE, "who brings no model is answered without one"


def test_passages_are_embedded_again_with_the_key_of_the_viewer(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    settings = Settings(
        data=tmp_path, ollama_url="", base_url=fake_openai.base_url, embedding_model=EMBEDDER, workers=1
    )
    anna, berta = (Access(api_key=SecretStr(key), chat_model="m") for key in ("sk-annas", "sk-bertas"))
    fake_openai.chats.append(streamed("One [1]."))
    runs = RunRegistry(settings)
    try:
        run_id = runs.start(QUESTION, DEMO, anna)
        until(lambda: _finished(runs, run_id))
        before = len(fake_openai.embedding_requests)
        job = runs.retuning.start("berta", run_id, replace(DEMO, chunk=ChunkKnobs(size=200)), berta)
        assert job is not None
        until(lambda: not job.live)
        keys = {request.headers["authorization"] for request in fake_openai.embedding_requests[before:]}
        assert keys == {"Bearer sk-bertas"}
    finally:
        runs.close()


def test_older_run_is_read_back_while_many_are_running(warm_folder: Path, fake_openai: FakeOpenAI) -> None:
    first = RunRegistry(Settings(data=warm_folder, ollama_url=""))
    run_id = first.start(QUESTION, DEMO)
    until(lambda: _finished(first, run_id))
    first.close()
    gate = Gate()
    fake_openai.chats.append(streamed("Half. ", gate, "More."))
    access = Access(base_url=fake_openai.base_url, api_key=SecretStr("k"), chat_model="m")
    busy = RunRegistry(Settings(data=warm_folder, ollama_url="", runs_at_once=1))
    try:
        for _ in range(IDLE_RUNS + 1):
            busy.start(QUESTION, DEMO, access)
        run = busy.get(run_id)
        assert run is not None and run.status is RunStatus.DONE
        assert busy.get(run_id) is run
    finally:
        gate.open()
        busy.close()


def test_threads_reading_a_run_back_at_once_share_it(runs: RunRegistry, tmp_path: Path) -> None:
    run_id = runs.start(QUESTION, DEMO)
    until(lambda: _finished(runs, run_id))
    runs.store.flush()
    other = RunRegistry(Settings(data=tmp_path, ollama_url=""))
    together = threading.Barrier(8)

    def read_back(_: int) -> object:
        together.wait()
        return other.get(run_id)

    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(read_back, range(8)))
        assert len({id(run) for run in found}) == 1
    finally:
        other.close()


def test_run_that_cannot_be_connected_fails_with_advice(runs: RunRegistry) -> None:
    run_id = runs.start(QUESTION, Knobs(search=SearchKnobs(backend="searxng")))
    until(lambda: _finished(runs, run_id))
    run = runs.get(run_id)
    assert run is not None
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert "SEARXNG_URL" in run.error.hint


def test_a_request_made_twice_runs_once(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.chats.extend([streamed("One [1]."), streamed("Two [1].", gate)])
    access = Access(base_url=fake_openai.base_url, api_key=SecretStr("k"), chat_model="m")
    run_id = runs.start(QUESTION, DEMO, access)
    until(lambda: _finished(runs, run_id))
    runs.answer_again(run_id, access=access)
    runs.answer_again(run_id, access=access)
    gate.open()
    until(lambda: _finished(runs, run_id) and (run := runs.get(run_id)) and run.earlier_answers)
    run = runs.get(run_id)
    assert run is not None
    assert [version.answer.text for version in run.earlier_answers] == ["One [1]."]
    assert len(fake_openai.chat_requests) == 2


def test_a_forgotten_run_is_gone(runs: RunRegistry) -> None:
    run_id = runs.start(QUESTION, DEMO)
    until(lambda: _finished(runs, run_id))
    runs.delete(run_id)
    assert runs.get(run_id) is None
    assert runs.history() == ()


def test_run_that_another_process_deletes_is_gone_here_too(runs: RunRegistry) -> None:
    run_id = runs.start(QUESTION, DEMO)
    until(lambda: _finished(runs, run_id))
    runs.store.flush()
    other = RunStore(runs.store.path)
    other.delete(run_id)
    other.close()
    until(lambda: runs.get(run_id) is None)  # its thread may still be about to let go of it
    with pytest.raises(BadInput):
        runs.answer_again(run_id)


def test_run_that_another_process_goes_on_with_is_read_again(runs: RunRegistry, tmp_path: Path) -> None:
    run_id = runs.start(QUESTION, DEMO)
    until(lambda: _finished(runs, run_id))
    runs.store.flush()
    other = RunRegistry(Settings(data=tmp_path, ollama_url=""))
    before = other.get(run_id)
    assert before is not None
    assert not before.earlier_answers
    runs.answer_again(run_id)
    until(lambda: (run := other.get(run_id)) is not None and len(run.earlier_answers) == 1)
    other.close()


def test_run_that_cannot_be_deleted_is_still_there(runs: RunRegistry) -> None:
    run_id = runs.start(QUESTION, DEMO)
    until(lambda: _finished(runs, run_id))
    runs.store.flush()
    with closing(sqlite3.connect(runs.store.path)) as db, db:
        db.execute("CREATE TRIGGER full BEFORE DELETE ON runs BEGIN SELECT RAISE(FAIL, 'disk full'); END")
    with pytest.raises(StoreFailed):
        runs.delete(run_id)
    assert runs.get(run_id) is not None
    assert [line.id for line in runs.history()] == [run_id]


def test_unsaved_runs_are_stored_when_the_registry_closes(warm_folder: Path) -> None:
    runs = RunRegistry(Settings(data=warm_folder, ollama_url=""))
    with closing(sqlite3.connect(runs.store.path)) as db, db:
        db.execute("CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(FAIL, 'disk full'); END")
    ids = {runs.start(QUESTION, DEMO) for _ in range(3)}
    until(lambda: all(_finished(runs, run_id) for run_id in ids))
    runs.store.flush()
    with closing(sqlite3.connect(runs.store.path)) as db, db:
        db.execute("DROP TRIGGER full")
    runs.close()
    again = RunStore(warm_folder / "runs.sqlite")
    assert {line.id for line in again.history(10)} == ids
    again.close()


def test_run_that_cannot_be_stored_says_so_and_stays(runs: RunRegistry, tmp_path: Path) -> None:
    """The database itself refuses, and then no longer does."""
    with closing(sqlite3.connect(runs.store.path)) as db, db:
        db.execute("CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(FAIL, 'disk full'); END")
    run_id = runs.start(QUESTION, DEMO, user="anna")
    until(lambda: _finished(runs, run_id))
    assert "disk full" in runs.unsaved(run_id)
    run = runs.get(run_id)
    assert run is not None
    with closing(sqlite3.connect(runs.store.path)) as db, db:
        db.execute("DROP TRIGGER full")
    assert runs.unsaved(run_id) == ""
    other = RunStore(runs.store.path)
    stored = other.load(run_id)
    other.close()
    assert stored is not None
    assert (stored.text, stored.status, stored.sources) == (run.text, run.status, run.sources)
    assert [line.id for line in runs.history(user="anna")] == [run_id]


def test_unstored_runs_do_not_leave_memory_first(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "runs.sqlite")) as db:
        db.execute("PRAGMA user_version = 99")
    runs = RunRegistry(Settings(data=tmp_path, ollama_url="", workers=1))
    document = (Path(__file__).parents[1] / "data" / "version_4" / "run.json").read_bytes()
    try:
        ids = [runs.import_run(document) for _ in range(IDLE_RUNS + 5)]
        assert all(runs.get(run_id) for run_id in ids)
        assert "newer" in runs.unsaved(ids[0])
    finally:
        runs.close()
