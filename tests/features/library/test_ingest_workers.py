"""An ingest on processes and on a Dask cluster: the same passages and vectors, and what the loss of a worker costs."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import BrokenExecutor, Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from core.adapters.models.local_embedder import MiniLM
from core.adapters.web.extraction_pool import ExtractionPool
from core.adapters.workers.jobs import Workers
from core.adapters.workers.local_processes import LocalProcesses
from core.cli.main import main
from core.config.settings import Settings
from core.errors import BadInput, WorkersFailed
from core.features.library.ingests import IngestState, TaskState, Upload
from core.features.library.services.connections import LibraryConnections
from core.features.library.services.ingest_workers import ingest_workers
from core.runtime.engine import Engine
from tests.features.library.sample_library import outcomes, words
from tests.reading.test_pdf import pdf
from tests.services.dask import dask_scheduler
from tests.services.process import closed_port

DOCUMENTS = 14
ALL = np.eye(1, 384, dtype=np.float32)[0]
"""A direction: every passage is among the nearest of it."""


def uploads() -> list[Upload]:
    """Documents of some passages each, one with pages, and one that holds no text."""
    texts = [Upload(f"{n}.txt", words(20, f"thing {n}").encode()) for n in range(DOCUMENTS - 2)]
    pages = pdf(["Glaciers carve valleys."], ["Bread rises because yeast makes gas."])
    return [*texts, Upload("paper.pdf", pages), Upload("empty.md", b"   ")]


def settings(folder: Path, **values: Any) -> Settings:
    return Settings(data=folder, ollama_url="", workers=1, **values)


async def stored(engine: Engine) -> tuple[list[tuple[str, str, int | None]], NDArray[np.float32]]:
    """Id, text and page of each passage, and their vectors."""
    near = await engine.part(LibraryConnections).database.nearest("books", ALL, 1_000, exact=True)
    rows = sorted(near, key=lambda neighbour: neighbour.passage.id)
    passages = [(row.passage.id, row.passage.content, row.passage.page) for row in rows]
    return passages, np.stack([row.vector for row in rows])


@asynccontextmanager
async def processes(_: Path) -> AsyncIterator[tuple[Workers, Callable[[], None]]]:
    async with ingest_workers(count=2) as workers:
        assert isinstance(workers, LocalProcesses)
        yield workers, workers.kill


@asynccontextmanager
async def cluster(folder: Path) -> AsyncIterator[tuple[Workers, Callable[[], None]]]:
    with dask_scheduler(folder) as dask:
        dask.start_workers(2)
        async with ingest_workers(dask.address) as workers:
            assert workers
            yield workers, lambda: dask.kill(0)


@pytest.mark.parametrize("opened", [processes, pytest.param(cluster, marks=pytest.mark.thorough)])
@pytest.mark.thorough
async def test_interrupted_ingest_with_lost_workers_loses_nothing(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Engine(settings(tmp_path / "alone")) as engine:
        alone = await (await engine.part(LibraryConnections).library.ingests.add("books", uploads())).wait()
        passages, vectors = await stored(engine)
    assert alone.counts == {TaskState.DONE: DOCUMENTS - 1, TaskState.FAILED: 1}
    for here in (MiniLM, ExtractionPool):
        monkeypatch.setattr(here, "__call__", _forbidden)
    (tmp_path / "dask").mkdir()
    async with opened(tmp_path / "dask") as (workers, kill):
        async with Engine(settings(tmp_path / "here")) as engine:
            engine.part(LibraryConnections).ingest_with(workers)
            ingest = await engine.part(LibraryConnections).library.ingests.add("books", uploads())
            while ingest.progress.counts[TaskState.DONE] < 1:
                await asyncio.sleep(0.01)
            kill()
            while ingest.progress.counts[TaskState.DONE] < 4:
                await asyncio.sleep(0.01)
        assert ingest.progress.state is IngestState.INTERRUPTED
        async with Engine(settings(tmp_path / "here")) as engine:
            engine.part(LibraryConnections).ingest_with(workers)
            (resumed,) = await engine.part(LibraryConnections).library.ingests.resume()
            finished = await resumed.wait()
            assert outcomes(finished) == outcomes(alone)
            found = await stored(engine)
            assert found[0] == passages
            np.testing.assert_allclose(found[1], vectors, atol=1e-6)


def _forbidden(*_: object) -> None:
    raise AssertionError("this process reads or embeds")


class Gone:
    """Workers that are lost with every job."""

    count, host = 2, "10.0.0.1:8786"

    def submit(self, *_: object) -> Future[Any]:
        raise BrokenExecutor


async def test_ingest_without_any_worker_left_goes_on(tmp_path: Path) -> None:
    async with Engine(settings(tmp_path)) as engine:
        await engine.part(LibraryConnections).library.create("books")
    async with Engine(settings(tmp_path)) as engine:
        engine.part(LibraryConnections).ingest_with(Gone())
        with pytest.raises(WorkersFailed, match="3 workers ended"):
            await engine.part(LibraryConnections).library.ingests.add("books", uploads())
    async with Engine(settings(tmp_path, private_collections="books")) as engine:
        engine.part(LibraryConnections).ingest_with(Gone())
        with pytest.raises(BadInput, match="collection books is not sent to the Dask cluster"):
            await engine.part(LibraryConnections).library.ingests.add("books", uploads())


def test_the_command_reads_and_embeds_in_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(MiniLM, "__call__", _forbidden)
    (tmp_path / "cats.md").write_text("# Cats\n\nCats sleep most of the day.")
    command = ["ingest", "books", str(tmp_path / "cats.md")]
    assert main([*command, "--workers", "2"]) == 0
    assert capsys.readouterr().out == "+ cats.md: 1 passage\n"
    assert main([*command, "--scheduler", f"tcp://127.0.0.1:{closed_port()}"]) == WorkersFailed.exit_code
    assert "does not answer" in (err := capsys.readouterr().err) and "neither encrypted" in err
    for wrong in (["--workers", "0"], ["--workers", "2", "--scheduler", "tcp://127.0.0.1:8786"]):
        with pytest.raises(SystemExit, match="2"):
            main([*command, *wrong])
