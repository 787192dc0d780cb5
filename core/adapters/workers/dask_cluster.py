"""Run jobs on an existing Dask cluster. Only this module imports `distributed`, the extra `dask`."""

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any, TypeVar

from core.adapters.workers.jobs import Shared
from core.config.clusters import is_encrypted
from core.config.version import __version__
from core.errors import BadInput, WorkersFailed

T = TypeVar("T")

CONNECT_SECONDS = 10.0
"""Seconds to wait for the scheduler, and then for a worker."""
_INSTALL = "Install the same version for the scheduler and for every worker."
_CERTIFICATES = (
    "Set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT and "
    "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY to PEM files, or write them into Dask's configuration."
)


class DaskCluster(Executor):
    """A `Workers` port over `Client(…).get_executor()` of distributed.

    Shared values are scattered: one worker receives them, and the others fetch them from their peers when a job needs
    them. The scheduler repeats the jobs of a lost worker. If shared values were lost with it, their jobs raise
    `BrokenExecutor`, and the values are sent again with the next job.
    """

    def __init__(self, scheduler: str) -> None:
        """Connect to a scheduler.

        Args:
            scheduler: its address, such as `tls://10.0.0.1:8786`. Its messages are unpickled here, which can run any code, so
                it must be trusted with everything that this process may do.

        Raises:
            BadInput: when distributed is not installed, the address is invalid, or `tls://` has no certificates.
            WorkersFailed: when the scheduler does not answer, has no worker, or another version of OpenQuery.
        """
        try:
            from distributed import Client, Security
        except ImportError as error:
            raise BadInput(
                "A Dask cluster needs the package distributed, which is not installed.",
                hint="Run: pip install -r requirements-dask.txt",
            ) from error
        encrypted = is_encrypted(scheduler)
        if encrypted and not Security().get_connection_args("client")["ssl_context"]:
            raise BadInput(f"{scheduler} needs certificates, and none are configured.", hint=_CERTIFICATES)
        try:
            self._client: Any = Client(
                scheduler,
                timeout=CONNECT_SECONDS,
                set_as_default=False,
                security=Security(require_encryption=encrypted),
            )
        except ValueError as error:
            raise BadInput(
                f"{scheduler} is no address of a scheduler.", hint="Write it like tcp://10.0.0.1:8786."
            ) from error
        except OSError as error:
            raise WorkersFailed(
                f"The Dask scheduler at {scheduler} does not answer.",
                hint="Check the address, that dask scheduler runs there, and that its certificates are signed by the "
                "same authority as those of this command."
                if encrypted
                else "Check the address, and that dask scheduler runs there.",
            ) from error
        self._scheduler, self.host = scheduler, scheduler.partition("://")[2]
        self._jobs = self._client.get_executor(pure=False)
        self._sending = threading.Lock()
        self._scattered: weakref.WeakKeyDictionary[Shared[Any], Any] = weakref.WeakKeyDictionary()
        try:
            self._check_workers()
        except BaseException:
            self._client.close()
            raise
        self.count = sum(self._client.nthreads().values())
        """The number of the workers' threads at the time of connection."""

    def __exit__(self, *_: object) -> None:
        """Cancel waiting jobs and disconnect. The workers belong to others and keep running."""
        self._jobs.shutdown(wait=False)
        self._client.close()

    def submit(self, job: Callable[..., T], /, *arguments: Any, **options: Any) -> Future[T]:
        """Submit a job like `Workers.submit`."""
        if self._client.status != "running":
            raise self._scheduler_gone()
        outcome: Future[T] = Future()
        submission = self._jobs.submit(job, *map(self._resolved, arguments), **options)
        submission.add_done_callback(lambda finished: self._copy_outcome(finished, outcome))
        return outcome

    def _resolved(self, argument: Any) -> Any:
        """Replace a shared value by its scattered future. Other arguments are unchanged."""
        if not isinstance(argument, Shared):
            return argument
        with self._sending:
            handle = self._scattered.get(argument)
            if handle is None or handle.status in ("cancelled", "lost"):
                # In a list: distributed would split a value that is a list. Unhashed: hashing would read all of it.
                (handle,) = self._client.scatter([argument.value], hash=False)
                self._scattered[argument] = handle
            return handle

    def _copy_outcome(self, job: Future[T], outcome: Future[T]) -> None:
        """Copy the outcome of `job`, reporting lost workers. The errors are those that `Workers` documents."""
        from distributed.scheduler import KilledWorker

        if not outcome.set_running_or_notify_cancel():
            return
        if job.cancelled():
            connected = self._client.status == "running"
            outcome.set_exception(
                BrokenExecutor("A worker has gone.") if connected else self._scheduler_gone()
            )
        elif isinstance(error := job.exception(), KilledWorker):
            outcome.set_exception(
                WorkersFailed(
                    "Several workers ended while they did the same work.",
                    hint="They may have had too little memory; the log of the cluster says more.",
                )
            )
        elif error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(job.result())

    def _check_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except OSError as error:
            raise WorkersFailed(
                f"The Dask scheduler at {self._scheduler} has no workers.",
                hint=f"Start one: dask worker {self._scheduler} --nthreads 1",
            ) from error
        try:
            versions = {self._client.run_on_scheduler(own_version), *self._client.run(own_version).values()}
        except ImportError as error:
            raise WorkersFailed(
                f"OpenQuery is not installed on all machines of the cluster: {error}.", hint=_INSTALL
            ) from error
        if versions != {__version__}:
            raise WorkersFailed(
                f"The cluster has OpenQuery {', '.join(sorted(versions))}; here it is {__version__}.",
                hint=_INSTALL,
            )

    def _scheduler_gone(self) -> WorkersFailed:
        return WorkersFailed(
            f"The Dask scheduler at {self._scheduler} has gone.",
            hint="Start it again; the same command then goes on where this one ended.",
        )


def own_version() -> str:
    """Return the version of OpenQuery on the running machine."""
    return __version__
