"""Jobs in a thread of this process."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from core.adapters.workers.jobs import Shared

T = TypeVar("T")


class InProcess(ThreadPoolExecutor):
    """The `Workers` port over one thread: jobs hold Python's lock, so that more threads would not be faster."""

    count, host = 1, ""

    def __init__(self) -> None:
        super().__init__(1, thread_name_prefix="jobs")

    def __exit__(self, *_: object) -> None:
        """Drop what has not begun. The job under way ends in the background."""
        self.shutdown(wait=False, cancel_futures=True)

    def submit(self, job: Callable[..., T], /, *arguments: Any, **options: Any) -> Future[T]:
        """As `Workers.submit`."""
        return super().submit(job, *map(_resolve, arguments), **options)


def _resolve(argument: Any) -> Any:
    return argument.value if isinstance(argument, Shared) else argument
