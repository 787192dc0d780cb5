"""Forty browser sessions at once in one process. Nothing here is about speed."""

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.alone.visitors import Visitor
from tests.browser.server import Site, serving
from tests.services.loopback import Gate
from tests.services.openai_server import MODEL, FakeOpenAI, streamed

SESSIONS, AT_ONCE, AWAY = 40, 4, 3
GROWTH = 2_500_000
"""Bytes that the server may grow by for each session; its run is among them. It grew by 1.4 to 1.9 million when this
was measured, in eleven runs."""
PATIENCE = 240
FIRST_SESSIONS = 8
QUESTION = "How does chunk overlap affect retrieval?"
QUERIES = '["chunk overlap", "passage boundaries"]'


@pytest.mark.timeout(2 * PATIENCE)
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_forty_sessions_wait_in_turn_and_none_blocks_another(tmp_path: Path) -> None:
    """Every session is a real websocket that polls as a browser does; some never read what they are sent."""
    with (
        FakeOpenAI() as model,
        serving(
            tmp_path,
            OPENQUERY_RUNS_AT_ONCE=str(AT_ONCE),
            OPENQUERY_WORKERS="1",
            OPENQUERY_BASE_URL=model.base_url,
            OPENAI_API_KEY="sk-test",
            OPENQUERY_CHAT_MODEL=MODEL,
            # Else the C library keeps freed memory for each of up to 16 groups of threads, as chance assigns them.
            MALLOC_ARENA_MAX="2",
        ) as site,
    ):
        # What the first visitors load, and what runs at the same time need, is no part of what a session costs.
        _apart(_visit(site, model, FIRST_SESSIONS))
        before = _most_memory(site.pid)
        visitors = _apart(_visit(site, model, SESSIONS))
        grown = _most_memory(site.pid) - before
        statuses = _statuses(site)
        assert site.trouble() == ""
    looking = visitors[AWAY:]
    assert [fault for visitor in visitors for fault in visitor.exceptions] == []
    assert len({visitor.run for visitor in looking}) == len(looking), "everybody has a run of their own"
    assert {statuses[visitor.run] for visitor in looking} == {"done"}
    assert len(statuses) == FIRST_SESSIONS + SESSIONS
    assert set(statuses.values()) == {"done"}, "runs of those who looked away end too"
    for visitor in looking:
        assert visitor.turns == sorted(visitor.turns, reverse=True), "nobody is overtaken"
    assert grown < GROWTH * SESSIONS, f"{grown / SESSIONS:,.0f} bytes a session"


async def _visit(site: Site, model: FakeOpenAI, sessions: int) -> list[Visitor]:
    """The first ask, look away and go on polling; the others ask and wait for their answers.

    The model holds the first runs until every other visitor was told that it is in the queue.
    """
    gate = Gate()
    model.chats.extend(streamed(gate, QUERIES) for _ in range(AT_ONCE))
    visitors = [Visitor(site.url) for _ in range(sessions)]
    await asyncio.gather(*(visitor.open() for visitor in visitors))
    for number, visitor in enumerate(visitors):
        await visitor.ask(QUESTION)
        if number < AT_ONCE:
            await visitor.polling()  # its run is in the queue, so it is among the first
        if number < AWAY:
            visitor.look_away()
    try:
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(visitor.queued() for visitor in visitors[AT_ONCE:]))
            gate.open()
            await asyncio.gather(*(visitor.answered() for visitor in visitors[AWAY:]))
            while any(status in ("queued", "running") for status in _statuses(site).values()):
                await asyncio.sleep(0.2)
    except TimeoutError as error:
        statuses = _statuses(site)
        waiting = [f"{visitor}: run {statuses.get(visitor.run)}" for visitor in visitors if not visitor.done]
        raise TimeoutError("\n".join([*waiting, site.trouble()])) from error
    for visitor in visitors:
        await visitor.close()
    return visitors


def _statuses(site: Site) -> dict[str, str]:
    lines = httpx.get(f"{site.url}/api/runs?limit=100", trust_env=False, timeout=60).json()["runs"]
    return {line["id"]: line["status"] for line in lines}


def _apart(work: Coroutine[Any, Any, Any]) -> Any:
    """Run on a loop in a thread of its own: Playwright, where it is open, has the main thread's."""
    result: list[Any] = []
    faults: list[BaseException] = []

    def run() -> None:
        try:
            result.append(asyncio.run(work))
        except BaseException as error:  # raised again below, in the test's own thread
            faults.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if faults:
        raise faults[0]
    return result[0]


def _most_memory(pid: int) -> int:
    """Bytes of the process that were in memory at the worst moment so far."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmHWM" in line)
    return int(line.split()[1]) * 1024
