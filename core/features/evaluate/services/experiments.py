"""Experiments in the background, one after another. Each is a folder, so it can be stopped and continued later."""

import asyncio
import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from core.config.knobs import Knobs, ReadKnobs
from core.errors import BadInput
from core.features.evaluate.data_sets.available import AvailableDataSets
from core.features.evaluate.data_sets.data_set import Question
from core.features.evaluate.experiment import run_experiment
from core.features.evaluate.experiment_state import Experiment, SweepProgress
from core.features.evaluate.failing_ports import require_reranker
from core.features.evaluate.question_runs import QuestionRuns
from core.features.evaluate.results import Results
from core.features.evaluate.results_folder import FILE, ResultsFolder, read_results
from core.features.evaluate.services.sweep_workers import (
    data_embedder,
    sweep_embedder,
    sweep_models,
    sweep_reranker,
    sweep_workers,
)
from core.features.evaluate.services.task_store import PLAN, TaskStore
from core.features.evaluate.sweep import name_of, settings
from core.features.evaluate.sweep_cost import DataSetSummary, SweepCost, sweep_cost
from core.model import Unreadable
from core.run.recorded_run import RecordedRun
from core.runtime.engine import Engine
from core.runtime.event_loop import BackgroundLoop, Task, TaskStatus
from core.storage.atomic_write import atomic_write
from core.storage.label_store import LabelStore
from core.storage.run_store import RunStore
from core.text.sanitize import one_line

FETCHED_MEGABYTES = 50.0
"""The largest fetched file in megabytes."""
_FETCH_SECONDS = 60.0
NAME_LIMIT, NOTE_LIMIT = 80, 500
"""The most characters of an experiment's name and note."""
_NICENESS = 10
"""The niceness of experiments, which lets visitors' pages run first."""


async def fetched_file(engine: Engine, address: str) -> tuple[str, bytes]:
    """Fetch a file of any kind from a public address. Returns its name and bytes.

    Raises:
        BadInput: when it cannot be fetched or is too large.
    """
    limits = ReadKnobs(page_timeout=_FETCH_SECONDS, max_megabytes=FETCHED_MEGABYTES)
    try:
        document = await engine.web.fetch_any_type(address.strip(), limits)
    except Unreadable as why:
        raise BadInput(
            f"{address[:200]} cannot be fetched: {why.detail or why.reason}.",
            hint=f"Name a file of at most {FETCHED_MEGABYTES:g} MB at a public address, or upload it.",
        ) from why
    return PurePosixPath(unquote(urlsplit(document.url).path)).name, document.body


class Experiments(TaskStore[Experiment]):
    """Start, stop, continue and look up experiments. Every method may be called from any thread."""

    def __init__(
        self, loop: BackgroundLoop, engine: Engine, folder: Path, store: RunStore, labels: LabelStore
    ) -> None:
        """`folder` is the data folder. The labels of all users are the data set `LABELS_NAME`."""
        super().__init__(loop, folder / "experiments")
        self._engine = engine
        folders = engine.settings.document_folders.split(",")
        self.data = AvailableDataSets(folder / "data_sets", store, labels, folders)
        self._opened: tuple[str, QuestionRuns] | None = None
        """The id of the experiment of the latest `question_runs`, with its data set, passages and vectors."""
        self._progress: dict[str, SweepProgress] = {}

    def settings(self, swept: Mapping[str, Any], sample: int = 0, grid: bool = False) -> tuple[Knobs, ...]:
        """Return the settings of a sweep. See `core.features.evaluate.sweep.settings`.

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

    def cost(self, summary: DataSetSummary, tried: Sequence[Knobs], processes: int = 0) -> SweepCost:
        """Estimate the cost of settings over a data set.

        `processes` means the same as for `start`. Raises the errors of `sweep_cost`.
        """
        models = self._loop.call(sweep_models(self._engine, processes))
        return self._loop.call(sweep_cost(summary, tried, models))

    def start(
        self,
        data: str,
        swept: Mapping[str, Any],
        user: str = "",
        *,
        sample: int = 0,
        grid: bool = False,
        processes: int = 0,
        scheduler: str = "",
    ) -> str:
        """Start an experiment, and return its id.

        Args:
            data: the name of the data set.
            swept: the values to try, by knob.
            user: the owner, whose labels it uses. If empty, it belongs to everybody.
            sample: the number of combinations to measure, 0 for all.
            grid: whether the sample is a grid of fewer values.
            processes: the number of processes on this machine. 1 means this process, 0 the number in the settings.
            scheduler: the address of a Dask cluster to run on. It must be trusted, see `DaskCluster`.

        Raises:
            BadInput: when the data set is missing, a value cannot be tried, or the user has a running experiment.
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
            "processes": processes,
            "scheduler": scheduler,
        }
        atomic_write(self._folder / name / PLAN, json.dumps(plan).encode())
        self._launch(name, partial(self._run, name=name, plan=plan))
        return name

    def fetch(self, address: str) -> tuple[str, tuple[int, ...]]:
        """Fetch a file with `fetched_file`, and add it to the data sets.

        Raises the errors of `fetched_file` and `AvailableDataSets.add`.
        """
        name, body = self._loop.call(fetched_file(self._engine, address))
        return self.data.add({name: BytesIO(body)})

    def describe(self, name: str, given_name: str, note: str) -> None:
        """Give an experiment a name and a note of its purpose. An empty name removes the given name.

        Raises:
            OSError: when it cannot be written.
        """
        path = self._folder / name / PLAN
        if self.get(name):
            plan = json.loads(path.read_text("utf-8"))
            texts = {"name": one_line(given_name, NAME_LIMIT), "note": one_line(note, NOTE_LIMIT)}
            atomic_write(path, json.dumps(plan | texts).encode())

    def resume(self, name: str) -> None:
        """Continue a stopped, failed or interrupted experiment."""
        experiment = self.get(name)
        if experiment and not experiment.live:
            plan = json.loads((self._folder / name / PLAN).read_text("utf-8"))
            self._launch(name, partial(self._run, name=name, plan=plan))

    def get(self, name: str) -> Experiment | None:
        """Return the experiment of this id, or None."""
        path = self.path(name)
        return self._read(path) if path else None

    def results(self, name: str) -> Results | None:
        """Return the current results of an experiment. None before its first setting has ended.

        Raises:
            BadInput: when its file is damaged.
        """
        path = self._folder / name / FILE
        try:
            size = path.stat().st_size
            return _results(path, size) if _lines(path, size) else None
        except FileNotFoundError:
            return None

    def question_runs(
        self, experiment: str, question: str, settings: Sequence[str]
    ) -> tuple[Question, tuple[RecordedRun, ...]]:
        """Return a question of an experiment, and its run under each setting.

        `experiment` and `question` are ids, and `settings` are names.

        Raises:
            BadInput: when the data set is gone, lacks the question, cannot be used, or is too large.
            EmbedFailed: when a text has no vector.
        """
        return self._loop.call(self._ranked(experiment, question, settings))

    async def _ranked(
        self, experiment: str, question: str, settings: Sequence[str]
    ) -> tuple[Question, tuple[RecordedRun, ...]]:
        opened = self._opened
        if opened is None or opened[0] != experiment:
            opened = self._opened = experiment, await self._questions_of(experiment)
        runs = await opened[1].runs(question, settings)
        return opened[1].questions[question], runs

    async def _questions_of(self, experiment: str) -> QuestionRuns:
        plan = self.get(experiment)
        if plan is None:
            raise BadInput("There is no such experiment any more.", hint="Choose another one.")
        data = await asyncio.to_thread(self.data.loader(plan.data, plan.user))
        embed = await data_embedder(self._engine, data)
        return QuestionRuns(data, embed, self._engine.models.reranker())

    def _read(self, path: Path) -> Experiment | None:
        """Return the experiment of a plan, or None if the plan is unreadable."""
        try:
            plan = json.loads(path.read_text("utf-8"))
            work, progress = self._work.get(path.parent.name), self._progress.get(path.parent.name)
            # Read the status before the results, which the work may still extend.
            status = work.status if work else self._status_elsewhere(path.parent.name, FILE)
            results = path.parent / FILE
            done = _lines(results, results.stat().st_size) - 1 if results.exists() else 0
            ended = TaskStatus.DONE if done >= plan["settings"] else TaskStatus.STOPPED
            return Experiment(
                id=path.parent.name,
                data=str(plan["data"]),
                swept=dict(plan["swept"]),
                started=str(plan["started"]),
                settings=int(plan["settings"]),
                done=max(done, 0),
                status=status or ended,
                error=work.error if work else "",
                user=str(plan.get("user", "")),
                given_name=str(plan.get("name", "")),
                note=str(plan.get("note", "")),
                progress=replace(progress) if progress and status is TaskStatus.RUNNING else None,
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    async def _run(self, task: Task, name: str, plan: Mapping[str, Any]) -> None:
        data, swept, user = plan["data"], plan["swept"], plan["user"]
        async with self._turn:
            task.begin()
            loaded = await asyncio.to_thread(self.data.loader(data, user))
            tried = await asyncio.to_thread(
                self.settings, swept, plan.get("sample", 0), plan.get("grid", False)
            )
            embed = await data_embedder(self._engine, loaded)
            rerank = sweep_reranker(self._engine, tried, loaded)
            count = plan.get("processes") or self._engine.settings.workers
            scheduler = plan.get("scheduler", "")
            path = self._folder / name
            names = [name_of(knobs) for knobs in tried]
            with closing(
                await asyncio.to_thread(ResultsFolder, path, loaded, embed.identity, names)
            ) as folder:
                done = await asyncio.to_thread(lambda: folder.results.by_setting)
                progress = self._progress[name] = SweepProgress()
                async with sweep_workers(
                    loaded, tried, scheduler, count=count, niceness=_NICENESS
                ) as workers:
                    embed = sweep_embedder(embed, self._engine, workers)
                    results = run_experiment(
                        loaded, tried, embed, workers, rerank=rerank, done=done, progress=progress
                    )
                    async with aclosing(results):
                        async for result in results:
                            await asyncio.to_thread(folder.add, result)


@lru_cache(maxsize=32)
def _results(path: Path, size: int) -> Results:
    """Return the results of a file with this size. Result files only grow, so the size is a cache key."""
    return read_results(path.parent)


@lru_cache(maxsize=256)
def _lines(path: Path, size: int) -> int:
    return path.read_bytes().count(b"\n")
