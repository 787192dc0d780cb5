"""A run that somebody looks at is filled with the vectors of the passages that waited, until other work needs it."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from core.config.settings import Settings
from core.methods.filling import is_incomplete
from core.ports import Ports
from core.run.state import Run, RunStatus
from core.runtime import registry
from core.runtime.engine import Engine
from core.runtime.registry import RunRegistry
from core.stages.embedding.cascade import FIRST
from tests.runtime.waiting import finished, until
from tests.test_cascade import KNOBS, QUESTION, Local

pytestmark = pytest.mark.slow


class Held(Local):
    """An embedder that holds calls once it has embedded so many texts, until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.held = threading.Event()

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(self.embedded) + len(texts) > self.most:
            self.held.set()
        return await super().vectors(texts)


class LocalEngine(Engine):
    """An engine whose embedder is a quick one of this process."""

    embedder: Held

    async def ports(self, *args: Any, **options: Any) -> Ports:
        return replace(await super().ports(*args, **options), embed=self.embedder, chat=None)


@pytest.fixture
def embedder() -> Held:
    return Held()


@pytest.fixture
def filled_runs(warm_folder: Path, embedder: Held) -> Iterator[RunRegistry]:
    runs = RunRegistry(Settings(data=warm_folder, ollama_url=""))
    runs.call(runs.engine.aclose())
    runs.engine = LocalEngine(runs.settings)
    runs.engine.embedder = embedder
    yield runs
    runs.close()


def test_closing_the_page_ends_the_filling_without_loss(
    filled_runs: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "UNWATCHED_SECONDS", -1.0)
    run_id = filled_runs.start(QUESTION, KNOBS)
    answered = finished(filled_runs, run_id)
    until(lambda: waiting(looked_at(filled_runs, run_id)) < waiting(answered))
    until(lambda: not filled_runs.is_filling(run_id))
    run = filled_runs.get(run_id)
    assert run is not None and run.status is RunStatus.DONE and run.answer == answered.answer
    stored = filled_runs.store.load(run_id)
    assert stored is not None and waiting(stored) == waiting(run) > 0
    monkeypatch.undo()
    until(lambda: waiting(looked_at(filled_runs, run_id)) == 0)


def looked_at(runs: RunRegistry, run_id: str) -> Run | None:
    """The run, which a page asks to complete each time that it draws it."""
    runs.complete(run_id)
    return runs.get(run_id)


def waiting(run: Run | None) -> int:
    assert run is not None and run.index is not None
    return len(run.index.waiting)


def test_nothing_is_embedded_for_an_unwatched_run(filled_runs: RunRegistry) -> None:
    answered = finished(filled_runs, filled_runs.start(QUESTION, KNOBS))
    assert not filled_runs.is_filling(answered.id)
    finished(filled_runs, filled_runs.start(QUESTION, KNOBS))
    assert waiting(filled_runs.get(answered.id)) == waiting(answered) > 0


def test_the_rest_follows_and_is_stored(filled_runs: RunRegistry) -> None:
    run_id = filled_runs.start(QUESTION, KNOBS)
    answered = finished(filled_runs, run_id)
    until(lambda: waiting(looked_at(filled_runs, run_id)) == 0)
    filled_runs.wait_for_vectors(run_id)
    run = filled_runs.get(run_id)
    assert run is not None and run.status is RunStatus.DONE
    assert (run.seconds, run.answer) == (answered.seconds, answered.answer)
    stored = filled_runs.store.load(run_id)
    assert stored is not None and stored.index is not None and run.index is not None
    np.testing.assert_array_equal(stored.index.vectors, run.index.vectors)
    assert stored.embedded_for_answer == run.embedded_for_answer != ()


def test_other_work_and_stop_end_filling_until_asked_again(filled_runs: RunRegistry, embedder: Held) -> None:
    embedder.most = FIRST + 350
    run_id = filled_runs.start(QUESTION, KNOBS)
    assert finished(filled_runs, run_id).status is RunStatus.DONE
    until(lambda: looked_at(filled_runs, run_id) and embedder.held.is_set())
    assert filled_runs.is_filling(run_id)
    filled_runs.stop(run_id)
    until(lambda: not filled_runs.is_filling(run_id))
    run = filled_runs.get(run_id)
    assert run is not None and run.status is RunStatus.DONE and is_incomplete(run)
    until(lambda: looked_at(filled_runs, run_id) and filled_runs.is_filling(run_id))
    embedder.most = 10**9  # the call under way is held for ever, unless other work ends it
    filled_runs.answer_again(run_id)
    until(lambda: waiting(looked_at(filled_runs, run_id)) == 0)
    answered = filled_runs.get(run_id)
    assert answered is not None and len(answered.earlier_answers) == 1
