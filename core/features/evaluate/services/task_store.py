"""Background work that fills a folder, so it can be stopped, continued, deleted and restored."""

import asyncio
import logging
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from core.errors import BadInput, OpenQueryError
from core.features.evaluate.experiment_state import StoredTask
from core.features.evaluate.record_file import is_being_written
from core.runtime.event_loop import BackgroundLoop, Task, TaskStatus

log = logging.getLogger(__name__)

PLAN = "plan.json"
_ID = re.compile(r"[\w-]+")


K = TypeVar("K", bound=StoredTask)


class TaskStore(ABC, Generic[K]):
    """Folders with plans, and the work on them in turn. Every method may be called from any thread."""

    def __init__(self, loop: BackgroundLoop, folder: Path) -> None:
        self._loop, self._folder = loop, folder
        self._deleted = folder / ".deleted"
        self._work: dict[str, Task] = {}
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
        if work:
            work.cancel(seconds)

    def delete(self, name: str) -> None:
        """Stop the work and delete its folder. It can be restored until another is deleted, or this process ends."""
        if _ID.fullmatch(name) and (self._folder / name).is_dir():
            self.stop(name)
            self._work.pop(name, None)
            self._purge()
            self._deleted.mkdir(parents=True)
            (self._folder / name).rename(self._deleted / name)

    def _status_elsewhere(self, name: str, records: str) -> TaskStatus | None:
        """Return RUNNING if another process writes the folder's records. Otherwise None."""
        return TaskStatus.RUNNING if is_being_written(self._folder / name / records) else None

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
        if self._deleted.exists():
            shutil.rmtree(self._deleted)

    def _launch(self, name: str, run: Callable[[Task], Coroutine[Any, Any, None]]) -> None:
        self._work[name] = self._loop.start(run, _log_failure)


def _log_failure(task: Task) -> None:
    if task.failure and not isinstance(task.failure, (OpenQueryError, OSError)):
        log.error("work in the background failed", exc_info=task.failure)
