"""Background work that fills a folder, so it can be stopped, continued, deleted and restored."""

import asyncio
import logging
import re
import shutil
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from core.errors import INTERNAL_ERROR, INTERNAL_ERROR_HINT, BadInput, OpenQueryError, disk_failure
from core.features.evaluate.experiment_state import ExperimentStatus, StoredTask
from core.features.evaluate.record_file import is_being_written
from core.runtime.event_loop import BackgroundLoop, BackgroundTask

log = logging.getLogger(__name__)

PLAN = "plan.json"
_ID = re.compile(r"[\w-]+")


@dataclass(slots=True)
class Work:
    """Running or ended work of this process."""

    status: ExperimentStatus = ExperimentStatus.QUEUED
    error: str = ""
    """The reason why it failed, for a person."""
    task: BackgroundTask | None = None
    began: float = 0.0
    """When its first step began, by the monotonic clock, or 0."""
    done_before: int = 0
    """Steps that were done before this start."""
    ended: threading.Event = field(default_factory=threading.Event)

    def seconds_left(self, done: int, steps: int) -> float | None:
        """Estimate the remaining seconds after `done` of `steps`. None if no step has ended since the start."""
        since = done - self.done_before
        if self.status is not ExperimentStatus.RUNNING or since < 1:
            return None
        return (time.monotonic() - self.began) / since * (steps - done)


K = TypeVar("K", bound=StoredTask)


class TaskStore(ABC, Generic[K]):
    """Folders with plans, and the work on them in turn. Every method may be called from any thread."""

    def __init__(self, loop: BackgroundLoop, folder: Path) -> None:
        self._loop, self._folder = loop, folder
        self._deleted = folder / ".deleted"
        self._work: dict[str, Work] = {}
        self._turn = asyncio.Semaphore(1)

    @abstractmethod
    def get(self, name: str) -> K | None:
        """Return the stored work of this name, or None."""

    def all(self) -> tuple[K, ...]:
        """Return the readable stored works, newest first."""
        every = []
        for path in self._folder.glob("*"):
            with suppress(BadInput, OSError, ValueError, KeyError, TypeError):
                every.append(self.get(path.name))
        return tuple(sorted(filter(None, every), key=lambda kept: kept.started, reverse=True))

    def path(self, name: str, file: str = PLAN) -> Path | None:
        """Return a file in the folder of this name, or None."""
        path = self._folder / name / file
        return path if _ID.fullmatch(name) and path.is_file() else None

    def stop(self, name: str, seconds: float = 5.0) -> None:
        """Stop the work, and wait at most `seconds` for its end. Its results stay.

        Raises:
            BadInput: when another process works on it.
        """
        work = self._work.get(name)
        if work is None and self.path(name) and (kept := self.get(name)) and kept.live:
            raise BadInput(
                "This is under way in another OpenQuery that uses the same data folder.",
                hint="Stop it there.",
            )
        if work and work.task:
            work.task.cancel()
            work.ended.wait(seconds)

    def delete(self, name: str) -> None:
        """Stop the work and delete its folder. It can be restored until another is deleted, or this process ends."""
        if _ID.fullmatch(name) and (self._folder / name).is_dir():
            self.stop(name)
            self._work.pop(name, None)
            self._purge()
            self._deleted.mkdir(parents=True)
            (self._folder / name).rename(self._deleted / name)

    def _status_elsewhere(self, name: str, records: str) -> ExperimentStatus | None:
        """Return RUNNING if another process writes the folder's records. Otherwise None."""
        return ExperimentStatus.RUNNING if is_being_written(self._folder / name / records) else None

    def is_restorable(self, name: str) -> bool:
        """Whether the deleted folder can be restored."""
        return bool(_ID.fullmatch(name)) and (self._deleted / name).is_dir()

    def restore(self, name: str) -> None:
        """Undo a deletion, if the folder can be restored."""
        if self.is_restorable(name):
            (self._deleted / name).rename(self._folder / name)

    def close(self) -> None:
        """Stop all work, and remove deleted folders for good."""
        for name in tuple(self._work):
            self.stop(name)
        self._purge()

    def _purge(self) -> None:
        """Remove deleted folders for good."""
        if self._deleted.exists():
            shutil.rmtree(self._deleted)

    def _launch(self, name: str, run: Callable[[Work], Coroutine[Any, Any, None]]) -> None:
        """Start work on a folder. Its `Work` receives the outcome."""
        work = self._work[name] = Work()

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
                    log.error("work in the background failed", exc_info=error)
            work.ended.set()

        work.task = self._loop.start(run(work), ended)
