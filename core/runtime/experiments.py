"""Experiments in the background, one after another. Each is a folder, so it can be stopped and continued later."""

import asyncio
import json
import logging
import re
import secrets
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

from core.config.knobs import Knobs
from core.errors import INTERNAL_ERROR, INTERNAL_ERROR_HINT, BadInput, OpenQueryError, disk_failure
from core.evaluation.data_sets.available import AvailableDataSets
from core.evaluation.experiment import run_experiment
from core.evaluation.experiment_state import Experiment, ExperimentStatus
from core.evaluation.results import Results
from core.evaluation.results_folder import FILE, ResultsFolder, read_results
from core.evaluation.strict_ports import require_reranker
from core.evaluation.sweep import settings
from core.evaluation.sweep_cost import DataSetSummary, SweepCost, sweep_cost
from core.runtime.choices.sweep_workers import sweep_models, sweep_reranker, sweep_workers
from core.runtime.engine import Engine
from core.runtime.event_loop import BackgroundLoop, BackgroundTask
from core.runtime.side_jobs.experiment_questions import ExperimentQuestions
from core.runtime.side_jobs.fetched_file import fetched_file
from core.storage.atomic_write import atomic_write
from core.storage.label_store import LabelStore
from core.storage.run_store import RunStore
from core.text.sanitize import one_line

log = logging.getLogger(__name__)

PLAN = "plan.json"
NAME_LIMIT, NOTE_LIMIT = 80, 500
"""Characters of an experiment's name and of its note."""
_NICENESS = 10
"""A visitor's page goes before an experiment."""
_ID = re.compile(r"[\w-]+")


@dataclass(slots=True)
class _Work:
    """An experiment that this process works on, or has ended with a reason."""

    status: ExperimentStatus = ExperimentStatus.QUEUED
    error: str = ""
    task: BackgroundTask | None = None
    began: float = 0.0
    """When its first setting began, by the monotonic clock; 0 before that."""
    done_before: int = 0
    """Settings that an earlier process, or an earlier start, had measured."""
    ended: threading.Event = field(default_factory=threading.Event)


class Experiments:
    """Start, stop, continue and look up experiments. Every method may be called from any thread."""

    def __init__(
        self, loop: BackgroundLoop, engine: Engine, folder: Path, store: RunStore, labels: LabelStore
    ) -> None:
        """
        Args:
            loop: the loop that owns the engine's connections.
            engine: whose embedder is used: the operator's.
            folder: the data folder.
            store: the runs whose pages are labelled.
            labels: the labels; those of everybody are the data set `LABELS_NAME`.
        """
        self._loop, self._engine = loop, engine
        self._folder = folder / "experiments"
        self._deleted = self._folder / ".deleted"
        folders = engine.settings.document_folders.split(",")
        self.data = AvailableDataSets(folder / "data_sets", store, labels, folders)
        self.questions = ExperimentQuestions(loop, engine, self.get, self.data)
        self._work: dict[str, _Work] = {}
        self._turn = asyncio.Semaphore(1)

    def settings(self, swept: Mapping[str, Any], sample: int = 0, grid: bool = False) -> tuple[Knobs, ...]:
        """The settings of a sweep, as `core.evaluation.sweep.settings` has them.

        Raises:
            BadInput: when a value cannot be tried, or needs a reranking model and none is connected.
        """
        tried = settings(swept, sample=sample, grid=grid)
        require_reranker(tried, self._engine.models.reranker())
        return tried

    @property
    def has_reranker(self) -> bool:
        """Whether a reranking model is connected."""
        return self._engine.models.reranker() is not None

    def cost(self, summary: DataSetSummary, tried: Sequence[Knobs]) -> SweepCost:
        """What these settings will take over a data set. Raises as `sweep_cost`."""

        models = self._loop.call(sweep_models(self._engine))
        return self._loop.call(sweep_cost(summary, tried, models))

    def start(
        self, data: str, swept: Mapping[str, Any], user: str = "", *, sample: int = 0, grid: bool = False
    ) -> str:
        """Start an experiment, and return its id. It belongs to `user`, whose labels it takes; empty: to everybody. With a
        `sample` it measures so many of the combinations, or with `grid` those of fewer values.

        Raises:
            BadInput: when there is no such data set, a value cannot be tried, or the user has an experiment under way.
        """
        self.data.loader(data, user)
        if user and any(experiment.live and experiment.user == user for experiment in self.all()):
            raise BadInput(
                "One experiment of yours is under way.", hint="Stop it, or wait until it has ended."
            )
        count = len(self.settings(swept, sample, grid))
        name = secrets.token_urlsafe(9)
        plan = {
            "data": data,
            "swept": swept,
            "settings": count,
            "started": datetime.now(UTC).isoformat(),
            "user": user,
            "sample": sample,
            "grid": grid,
        }
        atomic_write(self._folder / name / PLAN, json.dumps(plan).encode())
        self._launch(name, plan)
        return name

    def fetch(self, address: str) -> tuple[str, tuple[int, ...]]:
        """Fetch a file as `fetched_file` does, and keep it as `AvailableDataSets.add` does; raises as both."""
        name, body = self._loop.call(fetched_file(self._engine, address))
        return self.data.add({name: BytesIO(body)})

    def describe(self, name: str, given_name: str, note: str) -> None:
        """Name an experiment, with a note of what it was for. An empty name takes the given one away.

        Raises:
            OSError: when it cannot be written.
        """
        path = self._folder / name / PLAN
        if self.get(name):
            plan = json.loads(path.read_text("utf-8"))
            texts = {"name": one_line(given_name, NAME_LIMIT), "note": one_line(note, NOTE_LIMIT)}
            atomic_write(path, json.dumps(plan | texts).encode())

    def resume(self, name: str) -> None:
        """Continue an experiment that was stopped, has failed, or was interrupted with the process."""
        experiment = self.get(name)
        if experiment and not experiment.live:
            self._launch(name, json.loads((self._folder / name / PLAN).read_text("utf-8")))

    def stop(self, name: str, seconds: float = 5.0) -> None:
        """Stop an experiment, and wait at most so long for its end; results that are there stay."""
        work = self._work.get(name)
        if work and work.task:
            work.task.cancel()
            work.ended.wait(seconds)

    def delete(self, name: str) -> None:
        """Stop an experiment and delete it. It can be restored until another one is deleted, or this process ends."""
        if self.get(name):
            self.stop(name)
            self._work.pop(name, None)
            self._purge()
            self._deleted.mkdir(parents=True)
            (self._folder / name).rename(self._deleted / name)

    def is_restorable(self, name: str) -> bool:
        """Whether the experiment was deleted and can be restored."""
        return bool(_ID.fullmatch(name)) and (self._deleted / name / PLAN).is_file()

    def restore(self, name: str) -> None:
        """Undo the deletion of an experiment. Does nothing when it cannot be restored."""
        if self.is_restorable(name):
            (self._deleted / name).rename(self._folder / name)

    def get(self, name: str) -> Experiment | None:
        """The experiment of this id; None when there is none."""
        return self._read(self._folder / name / PLAN) if _ID.fullmatch(name) else None

    def all(self) -> tuple[Experiment, ...]:
        """Every experiment, newest first."""
        plans = self._folder.glob(f"*/{PLAN}")
        experiments = (experiment for path in plans if (experiment := self._read(path)) is not None)
        return tuple(sorted(experiments, key=lambda experiment: experiment.started, reverse=True))

    def results(self, name: str) -> Results | None:
        """What an experiment has so far; None before its first setting.

        Raises:
            BadInput: when its file is damaged.
        """
        path = self._folder / name / FILE
        try:
            size = path.stat().st_size
            return _results(path, size) if _lines(path, size) else None
        except FileNotFoundError:
            return None

    def close(self) -> None:
        """Stop all, and remove what was deleted."""
        for name in tuple(self._work):
            self.stop(name)
        self._purge()

    def _purge(self) -> None:
        """Remove what was deleted for good."""
        if self._deleted.exists():
            shutil.rmtree(self._deleted)

    def _read(self, path: Path) -> Experiment | None:
        """The experiment of a plan; None when the plan cannot be read."""
        try:
            plan = json.loads(path.read_text("utf-8"))
            results = path.parent / FILE
            done = _lines(results, results.stat().st_size) - 1 if results.exists() else 0
            work = self._work.get(path.parent.name)
            ended = ExperimentStatus.DONE if done >= plan["settings"] else ExperimentStatus.STOPPED
            return Experiment(
                id=path.parent.name,
                data=str(plan["data"]),
                swept=dict(plan["swept"]),
                started=str(plan["started"]),
                settings=int(plan["settings"]),
                done=max(done, 0),
                status=work.status if work else ended,
                error=work.error if work else "",
                user=str(plan.get("user", "")),
                given_name=str(plan.get("name", "")),
                note=str(plan.get("note", "")),
                seconds_left=_seconds_left(work, done, int(plan["settings"])) if work else None,
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _launch(self, name: str, plan: Mapping[str, Any]) -> None:
        work = self._work[name] = _Work()

        def ended(task: asyncio.Task[None]) -> None:
            error = None if task.cancelled() else task.exception()
            error = disk_failure(error) if isinstance(error, OSError) else error
            if error is None:
                work.status = ExperimentStatus.STOPPED if task.cancelled() else ExperimentStatus.DONE
            else:
                work.status = ExperimentStatus.FAILED
                work.error = str(error)
                if not isinstance(error, OpenQueryError):
                    work.error = f"{INTERNAL_ERROR} {INTERNAL_ERROR_HINT}"
                    log.error("an experiment failed", exc_info=error)
            work.ended.set()

        work.task = self._loop.start(self._run(work, name, plan), ended)

    async def _run(self, work: _Work, name: str, plan: Mapping[str, Any]) -> None:
        data, swept, user = plan["data"], plan["swept"], plan["user"]
        async with self._turn:
            work.status = ExperimentStatus.RUNNING
            loaded = await asyncio.to_thread(self.data.loader(data, user))
            tried = await asyncio.to_thread(
                self.settings, swept, plan.get("sample", 0), plan.get("grid", False)
            )
            embed = await self._engine.models.embedder(origins=loaded.origins)
            folder = await asyncio.to_thread(ResultsFolder, self._folder / name, loaded, embed.identity)
            done = await asyncio.to_thread(lambda: folder.results.by_setting)
            work.began, work.done_before = time.monotonic(), len(done)
            rerank = sweep_reranker(self._engine, tried, loaded)
            count = self._engine.settings.workers
            async with sweep_workers(loaded, tried, count=count, niceness=_NICENESS) as workers:
                results = run_experiment(loaded, tried, embed, workers, rerank=rerank, done=done)
                async with aclosing(results):
                    async for result in results:
                        await asyncio.to_thread(folder.add, result)


def _seconds_left(work: _Work, done: int, settings: int) -> float | None:
    measured = done - work.done_before
    if work.status is not ExperimentStatus.RUNNING or measured < 1:
        return None
    return (time.monotonic() - work.began) / measured * (settings - done)


@lru_cache(maxsize=32)
def _results(path: Path, size: int) -> Results:
    """The results in a file of this size; files of results only grow."""
    return read_results(path.parent)


@lru_cache(maxsize=256)
def _lines(path: Path, size: int) -> int:
    return path.read_bytes().count(b"\n")
