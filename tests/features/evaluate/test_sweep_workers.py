"""A sweep on processes and on a Dask cluster: the same results, and what the loss of a worker costs."""

from collections.abc import Iterator, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from core.adapters.models.local_embedder import MiniLM
from core.adapters.workers.dask_cluster import DaskCluster
from core.adapters.workers.jobs import InProcess, Workers
from core.adapters.workers.local_processes import LocalProcesses
from core.cli.main import main
from core.config.knobs import Knobs
from core.errors import WorkersFailed
from core.features.evaluate.data_sets.available import HANDBOOK_QUESTIONS
from core.features.evaluate.data_sets.data_set import DataSet
from core.features.evaluate.data_sets.load import load_data_set
from core.features.evaluate.experiment import Result, run_experiment
from core.features.evaluate.sweep import settings
from tests.features.evaluate.test_experiments import LetterEmbedder, data_set
from tests.services.dask import DaskProcesses, dask_scheduler
from tests.services.process import closed_port


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    """Two workers, of which the tests may kill one."""
    with dask_scheduler(tmp_path_factory.mktemp("dask")) as cluster:
        cluster.start_workers(2)
        yield cluster


SWEEP: dict[str, object] = {
    "chunk": {"size": [200, 400]},
    "rank": {"strategy": ["cosine", "bm25", "fused"], "surroundings": [0, 100]},
}


def handbook() -> DataSet:
    return load_data_set(HANDBOOK_QUESTIONS, name="handbook")


def without_times(results: Sequence[Result]) -> list[Result]:
    return [replace(result, seconds=0.0) for result in results]


async def run(
    data: DataSet, tried: Sequence[Knobs], embed: LetterEmbedder, workers: Workers | None = None
) -> list[Result]:
    with nullcontext(workers) if workers else InProcess() as pool:
        return without_times([result async for result in run_experiment(data, tried, embed, pool)])


async def test_processes_measure_as_one_thread_and_embed_once() -> None:
    tried = settings(SWEEP)
    alone = LetterEmbedder()
    expected = await run(data_set(), tried, alone)
    embed = LetterEmbedder()
    with LocalProcesses(2) as workers:
        assert await run(data_set(), tried, embed, workers) == expected
    assert sorted(embed.texts) == sorted(alone.texts)


@pytest.mark.slow
async def test_sweep_goes_on_after_every_process_is_killed() -> None:
    tried = settings(SWEEP)
    expected = await run(data_set(), tried, LetterEmbedder())
    results: list[Result] = []
    with LocalProcesses(2) as workers:
        found = run_experiment(data_set(), tried, LetterEmbedder(), workers)
        async with aclosing(found):
            async for result in found:
                results.append(result)
                if len(results) == 1:
                    workers.kill()
    assert without_times(results) == expected


@pytest.mark.thorough
async def test_a_cluster_that_loses_a_worker_loses_no_result(cluster: DaskProcesses) -> None:
    tried = settings(SWEEP)
    expected = await run(handbook(), tried, LetterEmbedder())
    results: list[Result] = []
    with DaskCluster(cluster.address) as workers:
        assert workers.count == 2
        found = run_experiment(handbook(), tried, LetterEmbedder(), workers)
        async with aclosing(found):
            async for result in found:
                results.append(result)
                if len(results) == 2:
                    cluster.kill(0)
    assert without_times(results) == expected


@pytest.mark.thorough
def test_command_sends_jobs_and_embedding_to_a_cluster(
    cluster: DaskProcesses,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sweep = tmp_path / "sweep.toml"
    sweep.write_text('[rank]\nstrategy = ["bm25", "cosine"]\n')
    asked = tmp_path / "questions.csv"
    asked.write_text("question,excerpt,source\nWhen did the kiln close?,The kiln closed in 1911.,kiln.txt\n")
    (tmp_path / "kiln.txt").write_text("The kiln was built in 1764. The kiln closed in 1911.")
    (tmp_path / "mill.txt").write_text("The tide mill was owned by the port. It had two wheels.")
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path / "here"))
    alone = ["eval", "run", "--data", str(asked), "--knobs", str(sweep)]
    assert main(alone) == 0
    here = _figures(capsys.readouterr().out)
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path / "cluster"))
    command = [*alone, "--out", str(tmp_path / "out")]
    monkeypatch.setattr(MiniLM, "__call__", _forbidden)
    assert main([*command, "--scheduler", cluster.address]) == 0
    printed = capsys.readouterr()
    assert _figures(printed.out) == here
    assert "neither encrypted nor authenticated" in printed.err
    assert main(command) == 0, "nothing is left to do, so nobody is asked"
    assert main([*alone, "--scheduler", f"tcp://127.0.0.1:{closed_port()}"]) == WorkersFailed.exit_code
    assert "does not answer" in capsys.readouterr().err


def _forbidden(*_: object) -> None:
    raise AssertionError("this process embeds")


def _figures(printed: str) -> list[str]:
    """The lines without their last figure, which is a time."""
    return [line.rpartition("  ")[0] or line for line in printed.splitlines()]
