"""Many at once, and many hostile pages: what is bounded stays bounded. Nothing here is about speed."""

import gc
import os
import threading
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import pytest
from pydantic import SecretStr

from core.config.access import Access
from core.config.knobs import Knobs, PlanKnobs, ReadKnobs, SearchKnobs
from core.config.settings import Settings
from core.model import SkipReason
from core.run.events import Record
from core.run.state import Run, RunStatus
from core.runtime.registry import RunRegistry
from tests.hostile.cases import CASES
from tests.hostile.world import faults, fetch_case, readers
from tests.seeding import until_ended
from tests.services.loopback import Gate
from tests.services.openai_server import MODEL, FakeOpenAI, streamed

RUNS, AT_ONCE = 50, 6
QUESTIONS = ("How does chunk overlap affect retrieval?", "What does BM25 reward?")
KNOBS = Knobs(
    search=SearchKnobs(backend="demo", results=3),
    plan=PlanKnobs(queries=1),
    read=ReadKnobs(early_cut_percent=0),
)
GROWTH = 100_000_000
"""Bytes by which the process and its workers may grow over 200 hostile pages."""


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[RunRegistry]:
    runs = RunRegistry(Settings(data=tmp_path, ollama_url="", workers=1, runs_at_once=AT_ONCE))
    yield runs
    runs.close()


def test_fifty_concurrent_runs_wait_in_order_and_all_end(runs: RunRegistry) -> None:
    began: list[str] = []
    under_way: set[str] = set()
    most = 0

    def watch(record: Record | None, run: Run) -> None:
        nonlocal most
        if not run.live:
            under_way.discard(run.id)
        elif record and run.id not in under_way:
            began.append(run.id)
            under_way.add(run.id)
            most = max(most, len(under_way))

    runs.observers = (watch,)
    threads = threading.active_count()
    ids = [runs.start(QUESTIONS[n % 2], KNOBS) for n in range(RUNS)]
    assert len(set(ids)) == RUNS
    assert len(runs.queued()) >= RUNS - AT_ONCE
    assert list(runs.queued()) == [run_id for run_id in ids if run_id in runs.queued()], (
        "first come, first served"
    )
    ended = until_ended(runs, ids)
    assert {run.status for run in ended} == {RunStatus.DONE}
    assert most <= AT_ONCE
    assert began == ids
    assert runs.queued() == ()
    assert {line.id for line in runs.history(100)} == set(ids)
    assert threading.active_count() <= threads + 40, "no thread a run"


def test_runs_that_hang_hold_only_their_own_places(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    """A model that falls silent, a reader that looks away: the others go on."""
    gates = [Gate() for _ in range(AT_ONCE - 1)]
    fake_openai.chats.extend(streamed("Half. ", gate, "More.") for gate in gates)
    access = Access(base_url=fake_openai.base_url, api_key=SecretStr("sk-test"), chat_model=MODEL)
    slow = [runs.start("What does BM25 reward?", KNOBS, access) for _ in gates]
    for gate in gates:
        gate.wait_reached()
    quick = [runs.start("Why normalise vectors?", KNOBS) for _ in range(10)]
    assert {run.status for run in until_ended(runs, quick)} == {RunStatus.DONE}
    assert all((run := runs.get(run_id)) is not None and run.live for run_id in slow)
    for gate in gates:
        gate.open()
    assert {run.status for run in until_ended(runs, slow)} == {RunStatus.DONE}


def _memory() -> int:
    """Bytes of this process and of those it started that are in memory."""
    mine = str(os.getpid())
    pages = 0
    for folder in Path("/proc").iterdir():
        try:
            if folder.name == mine or (
                folder.name.isdigit() and (folder / "stat").read_text().rpartition(")")[2].split()[1] == mine
            ):
                pages += int((folder / "statm").read_text().split()[1])
        except OSError:
            continue  # it has just ended
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
async def test_two_hundred_hostile_pages_leave_no_memory_behind() -> None:
    quick = [
        case
        for case in CASES
        if case.reason not in (SkipReason.BLOCKED, SkipReason.TIMEOUT, SkipReason.CRASHED)
        and not case.certificate
        and case.fetches == 1
    ]
    async with readers() as workers:
        await workers.start()
        for case in quick:
            assert not faults(case, await fetch_case(case, workers)), case.name
        gc.collect()
        before = _memory()
        for case in islice(cycle(quick), 200):
            await fetch_case(case, workers)
        gc.collect()
        assert _memory() - before < GROWTH
