"""Jobs in other processes: what they are given, what they raise, and what the loss of a process costs."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from pathlib import Path

import numpy as np
import pytest

from core.adapters.workers.dask_cluster import DaskCluster
from core.adapters.workers.jobs import InProcess, Shared, Workers, run_job
from core.adapters.workers.local_processes import LocalProcesses
from core.errors import BadInput, WorkersFailed
from tests.adapters.worker_jobs import killed_always, killed_once, process_of, refuse, total, wait_for_ever
from tests.services.dask import OWN_CODE, PACKAGES_ALONE, DaskProcesses, dask_scheduler, tls_certificates
from tests.services.process import closed_port


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    with dask_scheduler(tmp_path_factory.mktemp("dask")) as cluster:
        cluster.start_workers(1)
        yield cluster


@pytest.fixture(params=["in process", "processes", pytest.param("dask", marks=pytest.mark.slow)])
def workers(request: pytest.FixtureRequest) -> Iterator[Workers]:
    if request.param == "dask":
        with DaskCluster(request.getfixturevalue("cluster").address) as dask:
            yield dask
    else:
        with InProcess() if request.param == "in process" else LocalProcesses(2) as local:
            yield local


async def test_a_job_is_given_the_values_of_shared_arguments(workers: Workers) -> None:
    shared = Shared({"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.empty(0, np.float32)})
    assert [await run_job(workers, total, shared, factor) for factor in (1, 2)] == [15, 30]


async def test_what_a_job_raises_arrives_as_it_is(workers: Workers) -> None:
    with pytest.raises(BadInput, match="It is refused") as caught:
        await run_job(workers, refuse)
    assert caught.value.hint == "Ask for something else."


async def test_job_of_an_ended_process_is_run_again(tmp_path: Path) -> None:
    with LocalProcesses(1) as workers:
        before = await run_job(workers, process_of)
        after = await run_job(workers, killed_once, tmp_path / "mark")
        assert after != before
        assert workers.pids == {after}


async def test_a_job_that_ends_every_process_is_given_up() -> None:
    with LocalProcesses(1) as workers:
        with pytest.raises(WorkersFailed, match="3 workers ended"):
            await run_job(workers, killed_always)
        assert await run_job(workers, process_of) > 0


async def test_processes_end_with_their_block_during_a_job(tmp_path: Path) -> None:
    with LocalProcesses(1) as workers:
        job = asyncio.create_task(run_job(workers, wait_for_ever, tmp_path / "started"))
        while not (tmp_path / "started").exists():
            assert not job.done()
            await asyncio.sleep(0.01)
        (pid,) = workers.pids
        job.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_file_of_a_shared_value_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with LocalProcesses(1) as workers:
        shared = Shared(np.ones(5))
        asyncio.run(run_job(workers, process_of, shared))
        (folder,) = tmp_path.iterdir()
        assert len(list(folder.iterdir())) == 1
        del shared
        assert list(folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [1, 100_000, 10_000_000])
async def test_request_to_a_killed_process_is_reported_as_its_loss(size: int) -> None:
    with LocalProcesses(1) as workers:
        workers.submit(process_of).result()
        workers.kill()
        with pytest.raises(BrokenExecutor):
            workers.submit(len, b"x" * size).result()
        assert workers.submit(len, b"xyz").result() == 3


@pytest.mark.slow
async def test_shared_values_lost_with_a_worker_are_sent_again(cluster: DaskProcesses) -> None:
    with DaskCluster(cluster.address) as workers:
        shared = Shared({"a": np.ones(3, np.float32), "b": np.ones(4, np.float32)})
        assert await run_job(workers, total, shared, 1) == 7
        cluster.kill(0)
        cluster.start_workers(1)
        assert await run_job(workers, total, shared, 2) == 14


@pytest.mark.thorough
async def test_a_scheduler_that_goes_ends_a_sweep_in_words(tmp_path: Path) -> None:
    with dask_scheduler(tmp_path) as cluster:
        cluster.start_workers(1)
        workers = DaskCluster(cluster.address)
    with workers, pytest.raises(WorkersFailed, match="has gone"):
        await run_job(workers, process_of)


@pytest.mark.slow
def test_a_cluster_without_openquery_is_told(tmp_path: Path) -> None:
    with dask_scheduler(tmp_path, env=PACKAGES_ALONE) as cluster:
        cluster.start_workers(1)
        with pytest.raises(WorkersFailed, match="not installed on all machines"):
            DaskCluster(cluster.address)


@pytest.mark.thorough
def test_cluster_over_tls_needs_its_certificates(tmp_path: Path) -> None:
    program = (
        "import sys; from core.adapters.workers.dask_cluster import DaskCluster\n"
        "with DaskCluster(sys.argv[1]) as workers: print(workers.submit(sum, [2, 3]).result())"
    )
    certificates = tls_certificates(tmp_path)
    (tmp_path / "stranger").mkdir()
    stranger = tls_certificates(tmp_path / "stranger")

    def connect(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, cluster.address]
        environment = {**os.environ, **OWN_CODE, **environment}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    with dask_scheduler(tmp_path, certificates=certificates) as cluster:
        # The worker connects with its certificates; the client waits for it.
        cluster.start_workers(1, wait=False)
        assert connect(certificates).stdout == "5\n"
        assert "needs certificates" in connect({}).stderr
        assert "certificates are signed by the same authority" in connect(stranger).stderr


def test_a_scheduler_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.adapters.workers.dask_cluster.CONNECT_SECONDS", 0.5)
    with pytest.raises(WorkersFailed, match="does not answer"):
        DaskCluster(f"tcp://127.0.0.1:{closed_port()}")
    with pytest.raises(BadInput, match="is no address of a scheduler"):
        DaskCluster("carrier-pigeon://loft")


def test_next_start_deletes_only_what_a_killed_process_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import os, signal\n"
        "from core.adapters.workers.local_processes import LocalProcesses\n"
        "LocalProcesses(1)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)}, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    (folder,) = tmp_path.glob("openquery-jobs-*")
    (tmp_path / "openquery-jobs-file").touch()
    (tmp_path / "openquery-jobs-link").symlink_to(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with LocalProcesses(1), LocalProcesses(1):
        assert not folder.exists()
        assert len([path for path in tmp_path.iterdir() if path.is_dir() and not path.is_symlink()]) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"openquery-jobs-file", "openquery-jobs-link"}
