"""An agent that was killed, stopped or left by its model server goes on at its step, and pays for nothing twice."""

import asyncio
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from core.config.access import Access
from core.config.settings import ROOT, Settings
from core.errors import BadInput
from core.model import Phase
from core.run import events as e
from core.run.state import Run, RunStatus
from core.run.step_events import StepEnded, StepStarted
from core.runtime.registry import RunRegistry
from tests.methods.agent_runs import KNOBS, OVERLAP, QUESTION
from tests.runtime.waiting import finished
from tests.services.loopback import Gate, Loopback, Reply, Request
from tests.services.openai_server import FakeOpenAI, called, failure, streamed

pytestmark = pytest.mark.slow

STEPS = 11
PAGE = (
    b"<html><body><article><h1>Mills</h1>"
    + b"<p>Eling has a tide mill.</p>" * 40
    + b"</article></body></html>"
)


class Site:
    """Two pages; the second one waits at its gate the first time."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.gates: list[Gate] = [self.gate]
        self.fetched: list[str] = []

    async def reply(self, request: Request) -> Reply:
        if request.path == "/robots.txt":
            return Reply((b"",), content_type="text/plain")
        self.fetched.append(request.path)
        if request.path == "/slow" and self.gates:
            return Reply((PAGE, self.gates.pop()), content_type="text/html")
        return Reply((PAGE,), content_type="text/html")


@pytest.fixture
def site() -> Iterator[tuple[Site, Loopback]]:
    site = Site()
    with Loopback(site.reply) as server:
        yield site, server


@pytest.fixture
def runs(warm_folder: Path, site: tuple[Site, Loopback]) -> Iterator[RunRegistry]:
    runs = registry(warm_folder, site[1])
    yield runs
    runs.close()


def registry(folder: Path, server: Loopback) -> RunRegistry:
    return RunRegistry(Settings(data=folder, ollama_url="", fetch_allowlist=allowed(server), workers=1))


def allowed(server: Loopback) -> str:
    return server.url.removeprefix("http://")


def gone_on(runs: RunRegistry, run_id: str, server: FakeOpenAI) -> Run:
    """The run once it has gone on to its end."""
    ended = threading.Event()
    runs.observers = (lambda record, _run: None if record else ended.set(),)
    runs.resume(run_id, access(server))
    assert ended.wait(60), "it never ended"
    return finished(runs, run_id)


def access(server: FakeOpenAI) -> Access:
    return Access(base_url=server.base_url, chat_model="fake-chat")


@pytest.mark.parametrize(
    ("moment", "steps_kept", "decided"), [("a decision", 2, 1), ("a tool", 1, 1), ("the answer", 2, 0)]
)
@pytest.mark.thorough
async def test_a_killed_run_goes_on_at_its_step(
    warm_folder: Path,
    fake_openai: FakeOpenAI,
    site: tuple[Site, Loopback],
    moment: str,
    steps_kept: int,
    decided: int,
) -> None:
    pages, server = site
    slow = server.url + "/slow"
    held = Gate()
    if moment != "a tool":
        pages.gates.clear()
    decisions = [called(("open", {"url": OVERLAP})), called(("open", {"url": slow})), streamed("DONE")]
    script: dict[str, list[Any]] = {
        "a decision": [*decisions[:2], streamed("I", held)],
        "a tool": decisions[:2],
        "the answer": [*decisions, streamed("Half", held)],
    }
    fake_openai.chats.extend(script[moment])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.methods.ask_until_killed"),
        *(str(warm_folder), fake_openai.base_url, allowed(server)),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdout
    _, run_id = (await process.stdout.readline()).decode().split()
    await (pages.gate if moment == "a tool" else held).reached()
    process.kill()
    await process.wait()
    (pages.gate if moment == "a tool" else held).open()

    asked, fetched = len(fake_openai.chat_requests), list(pages.fetched)
    runs = registry(warm_folder, server)
    killed = runs.get(run_id)
    assert killed and killed.status is RunStatus.INTERRUPTED
    assert [step.end is not None for step in killed.steps].count(True) == steps_kept
    fake_openai.chats.append(streamed("DONE"))
    if moment == "the answer":
        fake_openai.chats.clear()
    run = await asyncio.to_thread(gone_on, runs, run_id, fake_openai)
    runs.close()
    assert run.status is RunStatus.DONE, run.error
    assert [step.tool for step in run.steps] == ["open", "open"]
    assert {source.url for source in run.sources} >= {OVERLAP}
    assert set(run.pages) == {OVERLAP, f"https://{allowed(server)}/slow"}
    assert len(fake_openai.chat_requests) == asked + decided + 1, "what is left to decide, and the answer"
    assert len(run.decisions) == 3, "no decision is made twice"
    assert pages.fetched == [*fetched, *(["/slow"] if moment == "a tool" else [])]
    if moment == "a decision":
        first, second = (
            request.json["messages"] for request in fake_openai.chat_requests[asked - 1 : asked + 1]
        )
        assert first == second, "the request that was under way is sent again as it was"


def test_run_resumes_when_its_model_server_is_back(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    fake_openai.chats += [called(("open", {"url": OVERLAP})), failure(401, "The key has expired.")]
    failed = finished(runs, runs.start(QUESTION, KNOBS, access(fake_openai)))
    assert failed.status is RunStatus.FAILED
    assert failed.ranking is not None, "what was opened is ranked"
    fake_openai.chats += [called(("find", {"text": "recall"})), streamed("DONE")]
    run = gone_on(runs, failed.id, fake_openai)
    assert run.status is RunStatus.DONE, run.error
    assert [step.tool for step in run.steps] == ["open", "find"]
    assert run.steps[0] == failed.steps[0]
    with pytest.raises(BadInput, match="nothing to go on with"):
        runs.resume(failed.id, access(fake_openai))


def test_a_stopped_run_keeps_its_steps_and_goes_on(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    held = Gate()
    fake_openai.chats += [called(("open", {"url": OVERLAP})), streamed("I", held)]
    run_id = runs.start(QUESTION, KNOBS, access(fake_openai))
    held.wait_reached()
    runs.stop(run_id)
    stopped = finished(runs, run_id)
    held.open()
    assert stopped.status is RunStatus.STOPPED
    assert stopped.ranking is not None
    assert len(stopped.steps) == 1
    fake_openai.chats.append(streamed("DONE"))
    run = gone_on(runs, run_id, fake_openai)
    assert (run.status, run.steps) == (RunStatus.DONE, stopped.steps)
    assert run.answer


def test_steps_are_on_disk_in_order_within_50_ms(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    times: list[tuple[float, e.Event]] = []
    on_disk: list[tuple[int, int, int]] = []

    def observe(record: e.Record | None, run: Run) -> None:
        if record:
            times.append((time.perf_counter(), record.event))
        if record and isinstance(record.event, StepStarted):
            counts = (count(runs.store.path, kind) for kind in ("ModelDecided", "StepEnded"))
            on_disk.append((record.event.number, *counts))

    fake_openai.chats += [called(("open", {"url": OVERLAP}))]
    fake_openai.chats += [called(("find", {"text": f"overlap {n}"})) for n in range(STEPS - 1)]
    fake_openai.chats += [streamed("DONE")]
    run = finished(runs, runs.start(QUESTION, KNOBS, access(fake_openai), observer=observe))
    assert len(run.steps) == STEPS
    assert on_disk == [(number, number, number - 1) for number in range(1, STEPS + 1)]

    replies = [at for at, event in times if isinstance(event, e.ModelUsed) and event.phase is Phase.PLAN]
    begins = [at for at, event in times if isinstance(event, StepStarted)]
    ends = [at for at, event in times if isinstance(event, StepEnded)]
    asked = [request.received for request in fake_openai.chat_requests[1:]]
    between = [
        (sent - ended) + (begun - replied)
        for ended, sent, replied, begun in zip(ends, asked, replies[1:], begins[1:], strict=False)
    ]
    assert min(between) <= 0.05, "the work alone: other processes of this machine add to the others"


def count(path: Path, kind: str) -> int:
    """How many events of a kind are in the file of the store."""
    with closing(sqlite3.connect(path)) as db:
        found = db.execute("SELECT count(*) FROM records WHERE CAST(event AS TEXT) LIKE ?", (f'%"{kind}"%',))
        return int(found.fetchone()[0])
