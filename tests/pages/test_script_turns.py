"""Few scripts run at the same time, and in the order of their requests."""

import threading
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any

import pytest
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from pages.parts.serving import streamlit_patches
from pages.parts.serving.script_turns import ScriptTurns

PATIENCE = 30


class Scripts:
    """Scripts that say when they begin, and end when they are told to."""

    def __init__(self, turns: ScriptTurns) -> None:
        self.turns = turns
        self.begun: Queue[int] = Queue()
        self.ends = [threading.Event() for _ in range(6)]
        self._threads: list[threading.Thread] = []

    def start(self, number: int) -> None:
        """Start a thread that runs this script, and return when it runs or waits."""
        thread = threading.Thread(target=self._run, args=(number,))
        self._threads.append(thread)
        waiting = self.turns.waiting
        thread.start()
        while number not in self.begun.queue and self.turns.waiting == waiting:
            thread.join(0.001)

    def next_begun(self) -> int:
        return self.begun.get(timeout=PATIENCE)

    def end_all(self) -> None:
        for end in self.ends:
            end.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def _run(self, number: int) -> None:
        with self.turns.turn():
            self.begun.put(number)
            assert self.ends[number].wait(PATIENCE)


@pytest.fixture
def scripts() -> Any:
    made = Scripts(ScriptTurns(at_once=2, seconds=PATIENCE))
    yield made
    made.end_all()


def test_scripts_begin_in_order_when_others_end(scripts: Scripts) -> None:
    for number in range(5):
        scripts.start(number)
    assert [scripts.next_begun(), scripts.next_begun()] == [0, 1]
    assert scripts.begun.empty()
    scripts.ends[1].set()
    assert scripts.next_begun() == 2
    scripts.ends[0].set()
    assert scripts.next_begun() == 3
    assert scripts.begun.empty()


def test_script_that_takes_long_keeps_nobody_waiting() -> None:
    scripts = Scripts(ScriptTurns(at_once=1, seconds=0.01))
    for number in range(3):
        scripts.start(number)
    assert sorted(scripts.next_begun() for _ in range(3)) == [0, 1, 2]
    scripts.end_all()


def test_failed_script_gives_its_place_back() -> None:
    turns = ScriptTurns(at_once=1, seconds=PATIENCE)
    with pytest.raises(ValueError, match="failed"), turns.turn():
        raise ValueError("failed")
    with ThreadPoolExecutor(1) as pool, turns.turn():
        assert pool.submit(lambda: turns.waiting).result(PATIENCE) == 0


def test_streamlit_runs_its_scripts_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[RerunData] = []
    monkeypatch.setattr(ScriptRunner, "_run_script", ScriptRunner._run_script)  # and back
    monkeypatch.setattr(streamlit_patches, "_run_script", lambda _runner, request: ran.append(request))
    monkeypatch.setattr(streamlit_patches, "_turns", turns := ScriptTurns(at_once=1, seconds=PATIENCE))
    streamlit_patches.run_scripts_in_turns()
    request = RerunData(fragment_id="map")
    with ThreadPoolExecutor(1) as pool:
        with turns.turn():
            drawing = pool.submit(ScriptRunner._run_script, ScriptRunner.__new__(ScriptRunner), request)
            while not turns.waiting and not drawing.done():
                pass
            assert not ran
        drawing.result(PATIENCE)
    assert ran == [request]
