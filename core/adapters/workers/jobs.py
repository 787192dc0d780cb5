"""Jobs on workers: the executor's port, shared arguments, and lost workers."""

import asyncio
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from core.errors import WorkersFailed

T = TypeVar("T")
LOST_AT_MOST = 3
"""The number of workers that a job may lose before it is blamed for their end."""


@dataclass(frozen=True, eq=False)
class Shared(Generic[T]):
    """An argument of many jobs, such as a corpus. Each worker receives it once, and the job receives its value."""

    value: T


class Workers(Protocol):
    """A `concurrent.futures.Executor` whose jobs may run in other processes and on other machines.

    A job is a function of a module of this package. Its arguments, its result and its exceptions are pickled. The
    future raises `BrokenExecutor` when the worker was lost. The job can then be submitted again.
    """

    @property
    def count(self) -> int:
        """The number of jobs that run at the same time."""
        ...

    @property
    def host(self) -> str:
        """The host and port that jobs are sent to, or "" for this machine."""
        ...

    def submit(self, job: Callable[..., T], /, *arguments: Any) -> Future[T]:
        """Submit a job. May block while a `Shared` argument is sent."""
        ...


async def run_job(workers: Workers, job: Callable[..., T], *arguments: Any) -> T:
    """Run a job, repeating it if its worker was lost.

    Raises:
        WorkersFailed: when it has lost `LOST_AT_MOST` workers.
        Exception: the job's exception.
    """
    for _ in range(LOST_AT_MOST):
        try:
            return await asyncio.wrap_future(await asyncio.to_thread(workers.submit, job, *arguments))
        except BrokenExecutor:
            continue
    raise WorkersFailed(
        f"{LOST_AT_MOST} workers ended while they did the same work.",
        hint="They may have had too little memory. The same command goes on where this one ended.",
    )


class InProcess(ThreadPoolExecutor):
    """A `Workers` port over one thread. Jobs hold Python's lock, so more threads would not be faster."""

    count, host = 1, ""

    def __init__(self) -> None:
        super().__init__(1, thread_name_prefix="jobs")

    def __exit__(self, *_: object) -> None:
        """Drop waiting jobs. The running job ends in the background."""
        self.shutdown(wait=False, cancel_futures=True)

    def submit(self, job: Callable[..., T], /, *arguments: Any, **options: Any) -> Future[T]:
        """Submit a job like `Workers.submit`."""
        return super().submit(job, *map(_resolve, arguments), **options)


def _resolve(argument: Any) -> Any:
    return argument.value if isinstance(argument, Shared) else argument
