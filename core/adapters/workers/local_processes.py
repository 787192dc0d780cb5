"""Jobs in processes of this machine."""

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

from core.adapters.worker_process import IMPORT_ROOT, command, environment
from core.adapters.workers.jobs import Shared
from core.adapters.workers.shared_files import SharedFolder, StoredValue, write_value
from core.sandbox.frames import read_frame, write_frame

T = TypeVar("T")


class LocalProcesses(ThreadPoolExecutor):
    """The `Workers` port over `count` processes, each started, asked and replaced by a thread of its own.

    A process is a new interpreter, never a fork. Shared values are files in a folder for temporary files; one goes
    when its `Shared` does. A process that dies fails the job that it was doing; its thread starts another one for
    the next job.
    """

    host = ""

    def __init__(self, count: int, *, niceness: int = 0) -> None:
        """`niceness` is how much they give way to other processes of this machine, from 0 to 19."""
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
        """End the processes, with the jobs that they are doing."""
        with self._starting:
            self._closed = True
        self.kill()
        self.shutdown(cancel_futures=True)
        for process in self._processes:
            _close(process)
        self._files.close()

    def kill(self) -> None:
        """End all processes now, with what they are doing."""
        with self._starting:
            for process in self._processes:
                process.kill()

    @property
    def pids(self) -> set[int]:
        """The processes that are there now."""
        with self._starting:
            return {process.pid for process in self._processes}

    def submit(self, job: Callable[..., T], /, *arguments: Any, **_: Any) -> Future[T]:
        """As `Workers.submit`."""
        return super().submit(self._run, job, tuple(map(self._stored_value, arguments)))

    def _stored_value(self, argument: Any) -> Any:
        """Where a shared value is stored, which is done when it is first used; any other argument as it is."""
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
        """The process of this thread, started if it has none."""
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
    """Close the pipes of a process that ends, and wait for its end."""
    with (
        suppress(BrokenPipeError),
        process,
    ):  # closing flushes what the process did not take of its last request
        pass


def _start_process(niceness: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command("adapters.workers.process_worker", str(niceness)),
        cwd=IMPORT_ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
