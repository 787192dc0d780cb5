"""Finished runs in the store of a server, for tests of what is done with one."""

import secrets
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import demo_library
from core.config.knobs import Knobs
from core.features.evaluate.services.experiments import Experiments
from core.run import events as e
from core.run.events import Event, Record, RunStarted
from core.run.state import Run, RunStatus
from core.runtime.event_loop import TaskStatus
from core.runtime.registry import RunRegistry
from core.storage.run_store import RunStore
from tests.features.api.conftest import settings
from tests.patience import Patience
from tests.samples import records

PATIENCE = 100.0
"""Seconds for runs over a small web, on a busy machine."""


def record_run(folder: Path, question: str, knobs: Knobs, **connected: Any) -> tuple[Record, ...]:
    """Ask the question through the core, with nothing connected but this: all that happened.

    The run and the pages that it read stay in the data folder, where a server finds them.
    """
    heard: list[Record] = []
    ended = threading.Event()

    def observe(record: Record | None, run: Run) -> None:
        if record:
            heard.append(record)
        if not run.live:
            ended.set()

    runs = RunRegistry(settings(folder / "data", **connected))
    try:
        run_id = runs.start(question, knobs, observer=observe)
        assert ended.wait(PATIENCE), "the run did not end"
        run = runs.get(run_id)
        assert run is not None
        assert run.status is RunStatus.DONE, run.error
    finally:
        runs.close()
    return tuple(heard)


def embed_demo_library(folder: Path) -> None:
    """Embed all passages of the demo library, and those of the handbook's data set, into the cache of a data folder."""
    runs = RunRegistry(settings(folder))
    try:
        (run,) = until_ended(runs, [runs.start(demo_library.QUESTION, demo_library.KNOBS)])
        assert run.status is RunStatus.DONE, run.error
        name = runs.service(Experiments).start("handbook", {"rank": {"strategy": ["cosine"]}}, processes=1)
        patience = Patience(PATIENCE)
        while (experiment := runs.service(Experiments).get(name)) and experiment.live:
            assert patience.lasts(experiment), "the passages of the handbook were not embedded"
            time.sleep(0.02)
        assert experiment and experiment.status is TaskStatus.DONE
    finally:
        runs.close()


def store_run(folder: Path, happened: Iterable[Record]) -> Run:
    """Write a run into the store of a server, as a run under way writes itself."""
    store = RunStore(folder / "data" / "runs.sqlite")
    run = Run()
    for record in happened:
        run = run.apply(record)
        store.append(run, record)
    store.close()
    return run


def store_events(folder: Path, *events: Event) -> Run:
    """The same for events that are written by hand."""
    return store_run(folder, records(*events))


def store_finished(folder: Path, run: Run) -> Run:
    """The same for a run that was made by hand and has an answer."""
    assert run.index is not None and run.ranking is not None and run.answer is not None
    return store_events(
        folder,
        e.RunStarted(run.id, run.question, run.knobs, "2026-01-02T03:04:05+00:00"),
        *(e.QueryPlanned(query) for query in run.queries),
        *(e.SearchAnswered(query, reply) for query, reply in run.replies.items()),
        *(e.PageRead(page) for page in run.pages.values()),
        e.PageChunked(next(iter(run.pages)), run.passages),
        e.Indexed(run.index),
        e.Ranked(run.ranking),
        e.SourcesChosen(run.sources),
        e.Answered(run.answer),
        e.Checked(run.check),
        e.RunDone(),
    )


def store_copy(folder: Path, happened: Iterable[Record], question: str = "") -> str:
    """The same run under a new id, and under another question if one is given, which a test may change without another
    seeing it: the id."""
    run_id = secrets.token_urlsafe(8)
    store_run(
        folder,
        (
            replace(
                record, event=replace(record.event, id=run_id, question=question or record.event.question)
            )
            if isinstance(record.event, RunStarted)
            else record
            for record in happened
        ),
    )
    return run_id


def until_ended(runs: RunRegistry, ids: list[str]) -> list[Run]:
    """The runs, once each of them has ended."""
    patience = Patience(PATIENCE)
    while True:
        found = [run for run in map(runs.get, ids) if run is not None and not run.live]
        if len(found) == len(ids):
            return found
        assert patience.lasts(tuple(id(runs.get(run_id)) for run_id in ids)), (
            f"{len(found)} of {len(ids)} have ended"
        )
        time.sleep(0.02)
