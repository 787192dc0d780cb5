"""Run jobs in processes of this machine."""

import itertools
import pickle
import subprocess
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import suppress
from shutil import rmtree
from typing import Any, BinaryIO, TypeVar, cast

from core.adapters.workers.jobs import Shared
from core.adapters.workers.shared_files import SharedFolder, StoredValue, write_value
from core.sandbox.frames import read_frame, write_frame
from core.sandbox.worker_command import IMPORT_ROOT, command, environment

T = TypeVar("T")


class LocalProcesses(ThreadPoolExecutor):
    """A `Workers` port over `count` processes, each started, used and replaced by its own thread.

    A process is a new interpreter, never a fork. Shared values are files in a folder for temporary files. A file is
    deleted together with its `Shared`. A process that dies fails its current job, and its thread starts another process
    for the next job.
    """

    host = ""

    def __init__(self, count: int, *, niceness: int = 0) -> None:
        """Set the `niceness` of the processes, from 0 to 19. Higher values yield to other processes of this machine."""
        super().__init__(count, thread_name_prefix="jobs")
        self.count = count
        self._niceness = niceness
        self._files = SharedFolder()
        self._numbers = itertools.count()
        self._stored: weakref.WeakKeyDictionary[Shared[Any], StoredValue] = weakref.WeakKeyDictionary()
        self._writing = threading.Lock()
        self._thread = threading.local()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._starting = threading.Lock()
        self._closed = False

    def __exit__(self, *_: object) -> None:
        """End the processes and their running jobs."""
        with self._starting:
            self._closed = True
        self.kill()
        self.shutdown(cancel_futures=True)
        for process in self._processes:
            _close(process)
        self._files.close()

    def kill(self) -> None:
        """End all processes now, with their running jobs."""
        with self._starting:
            for process in self._processes:
                process.kill()

    @property
    def pids(self) -> set[int]:
        """The ids of the current processes."""
        with self._starting:
            return {process.pid for process in self._processes}

    def submit(self, job: Callable[..., T], /, *arguments: Any, **_: Any) -> Future[T]:
        """Submit a job like `Workers.submit`."""
        return super().submit(self._run, job, tuple(map(self._stored_value, arguments)))

    def _stored_value(self, argument: Any) -> Any:
        """Replace a shared value by its stored file. It is stored at its first use. Other arguments are unchanged."""
        if not isinstance(argument, Shared):
            return argument
        with self._writing:
            if argument not in self._stored:
                folder = self._files.path / str(next(self._numbers))
                write_value(folder, argument.value)
                weakref.finalize(argument, rmtree, folder, ignore_errors=True)
                self._stored[argument] = StoredValue(folder)
            return self._stored[argument]

    def _run(self, job: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        process = self._process()
        try:
            request = pickle.dumps((job, arguments), protocol=5)
            write_frame(cast(BinaryIO, process.stdin), b"", request)
            frame = read_frame(cast(BinaryIO, process.stdout))
        except OSError:
            frame = None
        if frame is None:
            self._drop(process)
            raise BrokenExecutor("A worker process has ended.")
        succeeded, outcome = pickle.loads(frame[1])  # noqa: S301 - from our own process
        if not succeeded:
            raise outcome
        result: T = outcome
        return result

    def _process(self) -> subprocess.Popen[bytes]:
        """Return this thread's process, starting it if needed."""
        process: subprocess.Popen[bytes] | None = getattr(self._thread, "process", None)
        if process is None:
            with self._starting:
                if self._closed:
                    raise BrokenExecutor("The workers were closed.")
                process = self._thread.process = _start_process(self._niceness)
                self._processes.add(process)
        return process

    def _drop(self, process: subprocess.Popen[bytes]) -> None:
        self._thread.process = None
        process.kill()
        _close(process)
        with self._starting:
            self._processes.discard(process)


def _close(process: subprocess.Popen[bytes]) -> None:
    with suppress(BrokenPipeError), process:  # closing flushes input that the process did not read
        pass


def _start_process(niceness: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command("adapters.workers.process_worker", str(niceness)),
        cwd=IMPORT_ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
