"""Jobs on workers: the executor that runs them, arguments that many of them share, and lost workers."""

import asyncio
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from core.errors import WorkersFailed

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Shared(Generic[T]):
    """An argument of many jobs, such as a corpus: it is sent to each worker once, and the job is given its value."""

    value: T


class Workers(Protocol):
    """A `concurrent.futures.Executor` whose jobs may run in other processes, and on other machines.

    A job is a function of a module of this package; its arguments, its result and its exceptions are pickled. The
    future raises `BrokenExecutor` when the worker was lost; the job can then be submitted again.
    """

    @property
    def count(self) -> int:
        """How many jobs run at the same time."""
        ...

    @property
    def host(self) -> str:
        """The host that jobs are sent to, with its port; empty for this machine."""
        ...

    def submit(self, job: Callable[..., T], /, *arguments: Any) -> Future[T]:
        """May block while a `Shared` argument is sent."""
        ...


LOST_AT_MOST = 3
"""Workers that a job may lose before it is taken to be what ends them."""


async def run_job(workers: Workers, job: Callable[..., T], *arguments: Any) -> T:
    """The result of the job. It is run again where its worker was lost.

    Raises:
        WorkersFailed: when it has lost `LOST_AT_MOST` workers.
        Exception: what the job raised.
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
