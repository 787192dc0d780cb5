"""A Dask cluster on loopback: a scheduler and workers, each a process that can be killed.

with dask_scheduler(folder) as cluster:
    worker = cluster.start_worker()
    DaskCluster(cluster.address)
"""

import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.services.process import own_port, serving

ROOT = Path(__file__).parents[2]
START_SECONDS = 60
OWN_CODE = {"PYTHONPATH": str(ROOT)}
PACKAGES_ALONE = {"PYTHONPATH": sysconfig.get_path("purelib")}
"""Beside `python -S`, which reads no `.pth` file: the environment of the tests has one that names this checkout."""
LOOPBACK = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")


@dataclass
class DaskProcesses:
    address: str
    folder: Path
    certificates: Mapping[str, str] = field(default_factory=dict)
    """Dask's variables with the certificates of workers and clients; empty for `tcp://`."""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_workers(self, count: int, *, wait: bool = True) -> None:
        """Start so many more workers of one thread, and `wait` until the scheduler knows all that live."""
        with (self.folder / "workers.log").open("ab") as log:
            for _ in range(count):
                self.workers.append(
                    subprocess.Popen(
                        self._command(),
                        cwd=ROOT,
                        stdout=log,
                        stderr=log,
                        env={**os.environ, **self.certificates},
                    )
                )
        if wait:
            self.wait_for(sum(worker.poll() is None for worker in self.workers))

    def kill(self, number: int) -> None:
        """Kill a worker, as a machine that fails does."""
        self.workers[number].kill()
        self.workers[number].wait()

    def wait_for(self, count: int) -> None:
        from distributed import Client  # takes a second, and most workers of tests never start a cluster

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=START_SECONDS)

    def _command(self) -> list[str]:
        module = (sys.executable, "-m", "distributed.cli.dask_worker", self.address, "--no-nanny")
        return [*module, "--nthreads", "1", *LOOPBACK, "--local-directory", str(self.folder)]


def tls_certificates(folder: Path) -> dict[str, str]:
    """Dask's variables with one new certificate, which signs itself, for scheduler, workers and clients."""
    subprocess.run(
        shlex.split(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=loopback "
            "-keyout key.pem -out cert.pem"
        ),
        cwd=folder,
        check=True,
        capture_output=True,
    )
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    prefix = "DASK_DISTRIBUTED__COMM__TLS__"
    sides = ("SCHEDULER", "WORKER", "CLIENT")
    return {
        f"{prefix}CA_FILE": cert,
        **{f"{prefix}{side}__CERT": cert for side in sides},
        **{f"{prefix}{side}__KEY": key for side in sides},
    }


@contextmanager
def dask_scheduler(
    folder: Path, env: Mapping[str, str] = OWN_CODE, certificates: Mapping[str, str] | None = None
) -> Iterator[DaskProcesses]:
    """A scheduler, without workers at first; all processes end with the block.

    Args:
        folder: where logs and the workers' files go.
        env: the scheduler's environment, which has this code or `PACKAGES_ALONE`.
        certificates: `tls_certificates`, with which connections are encrypted.
    """
    port = own_port()
    protocol = "tls" if certificates else "tcp"
    isolated = ("-S",) if env == PACKAGES_ALONE else ()
    command = (
        sys.executable,
        *isolated,
        "-m",
        "distributed.cli.dask_scheduler",
        "--port",
        str(port),
        *LOOPBACK,
    )
    command = (*command, "--protocol", protocol)
    environment = {**env, **(certificates or {})}
    with serving(
        command, ready=f"tcp://127.0.0.1:{port}", folder=folder, env=environment, patience=START_SECONDS
    ):
        cluster = DaskProcesses(f"{protocol}://127.0.0.1:{port}", folder, certificates or {})
        try:
            yield cluster
        finally:
            for number in range(len(cluster.workers)):
                cluster.kill(number)
