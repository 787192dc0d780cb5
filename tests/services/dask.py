"""A Dask cluster on loopback: a scheduler and workers, each a process that can be killed.

with dask_scheduler(folder) as cluster:
    worker = cluster.start_worker()
    DaskCluster(cluster.address)
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from distributed import Client

from tests.services.process import own_port, serving

ROOT = Path(__file__).parents[2]
START_SECONDS = 60
OWN_CODE = {"PYTHONPATH": str(ROOT)}
LOOPBACK = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")


@dataclass
class DaskProcesses:
    address: str
    folder: Path
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_workers(self, count: int) -> None:
        """Start so many more workers of one thread, and wait until the scheduler knows all that live."""
        with (self.folder / "workers.log").open("ab") as log:
            for _ in range(count):
                self.workers.append(subprocess.Popen(self._command(), cwd=ROOT, stdout=log, stderr=log))
        self.wait_for(sum(worker.poll() is None for worker in self.workers))

    def kill(self, number: int) -> None:
        """Kill a worker, as a machine that fails does."""
        self.workers[number].kill()
        self.workers[number].wait()

    def wait_for(self, count: int) -> None:
        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=START_SECONDS)

    def _command(self) -> list[str]:
        module = (sys.executable, "-m", "distributed.cli.dask_worker", self.address, "--no-nanny")
        return [*module, "--nthreads", "1", *LOOPBACK, "--local-directory", str(self.folder)]


@contextmanager
def dask_scheduler(folder: Path, env: Mapping[str, str] = OWN_CODE) -> Iterator[DaskProcesses]:
    """A scheduler, without workers at first; all processes end with the block. `env` is the scheduler's."""
    port = own_port()
    command = (sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", str(port), *LOOPBACK)
    address = f"tcp://127.0.0.1:{port}"
    with serving(command, ready=address, folder=folder, env=env, patience=START_SECONDS):
        cluster = DaskProcesses(address, folder)
        try:
            yield cluster
        finally:
            for number in range(len(cluster.workers)):
                cluster.kill(number)
