"""Run jobs in a thread of this process."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from core.adapters.workers.jobs import Shared

T = TypeVar("T")


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
