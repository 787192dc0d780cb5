"""Scripts run in turns, in the order of their requests."""

import threading
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any

import pytest
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType

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
        turn = self.turns.begin()
        self.begun.put(number)
        assert self.ends[number].wait(PATIENCE)
        self.turns.end(turn)


@pytest.fixture
def scripts() -> Any:
    made = Scripts(ScriptTurns(seconds=PATIENCE))
    yield made
    made.end_all()


def test_scripts_begin_in_order_when_others_end(scripts: Scripts) -> None:
    for number in range(5):
        scripts.start(number)
    for number in range(5):
        assert scripts.next_begun() == number
        assert scripts.begun.empty()
        scripts.ends[number].set()


def test_script_that_takes_long_keeps_nobody_waiting() -> None:
    scripts = Scripts(ScriptTurns(seconds=0.01))
    for number in range(3):
        scripts.start(number)
    assert sorted(scripts.next_begun() for _ in range(3)) == [0, 1, 2]
    scripts.end_all()


def test_requests_of_a_session_that_waits_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptRequests, "on_scriptrunner_ready", ScriptRequests.on_scriptrunner_ready)
    monkeypatch.setattr(streamlit_patches, "_turns", turns := ScriptTurns(seconds=PATIENCE))
    streamlit_patches.run_scripts_in_turns()
    requests = ScriptRequests()
    requests.request_rerun(RerunData(fragment_id="map"))
    with ThreadPoolExecutor(1) as pool:
        other = turns.begin()
        taken = pool.submit(requests.on_scriptrunner_ready)
        while not turns.waiting and not taken.done():
            pass
        requests.request_rerun(RerunData(fragment_id="table"))
        turns.end(other)
        assert taken.result(PATIENCE).rerun_data.fragment_id_queue == ["map", "table"]
        assert pool.submit(requests.on_scriptrunner_ready).result(PATIENCE).type is ScriptRequestType.STOP
        assert turns.end(turns.begin()) is None, "the turn was given back"
