"""Whole processes with the embedded database and the local embedder: killed, side by side, on the command line."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from core.cli.main import main
from core.config.settings import ROOT, Settings
from core.features.library.ingests import IngestState, TaskState
from core.features.library.services.connections import LibraryConnections
from core.ports import Embed
from core.runtime.engine import Engine
from tests.features.library.ingest_until_killed import uploads
from tests.features.library.sample_library import outcomes, stored_files
from tests.reading.test_pdf import pdf
from tests.stages.fakes import FakeEmbed

pytestmark = pytest.mark.slow

DOCUMENTS, SENTENCES = 8, 40


async def started(
    folder: Path, collection: str, documents: int, sentences: int
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.features.library.ingest_until_killed",
        *(str(folder), collection, str(documents), str(sentences)),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )


async def said(process: asyncio.subprocess.Process, line: str) -> None:
    """Return when the process has said this."""
    assert process.stdout
    async for raw in process.stdout:
        if raw.decode().strip() == line:
            return
    pytest.fail(f"the process ended without saying {line}")


@pytest.mark.thorough
async def test_a_killed_ingest_is_resumed_without_repeating_documents(tmp_path: Path) -> None:
    process = await started(tmp_path, "books", DOCUMENTS, SENTENCES)
    await said(process, "done 3")
    process.kill()
    await process.wait()

    texts: list[str] = []
    async with Engine(Settings(data=tmp_path, ollama_url="", workers=1)) as engine:
        books = engine.part(LibraryConnections).library
        cached = await engine.models.embedder()
        cached.embed = Watched(cached.embed, texts)
        (unfinished,) = await books.ingests.unfinished()
        assert unfinished.counts[TaskState.DONE] >= 3
        assert len(unfinished.tasks) == DOCUMENTS
        (resumed,) = await books.ingests.resume()
        finished = await resumed.wait()
        assert finished.state is IngestState.DONE
        assert set(outcomes(finished).values()) == {"done"}
        assert await books.ingests.unfinished() == ()
        (about,) = (await books.collections()).values()
        documents = await books.documents("books")
        assert len(documents) == DOCUMENTS
        assert about.passages == sum(document.passages for document in documents)
        embedded = [text for text in texts if text != "width"]
        assert 0 < len(embedded) <= about.passages - sum(document.passages for document in documents[-3:])
        again = await (await books.ingests.add("books", uploads(DOCUMENTS, SENTENCES))).wait()
        assert again.counts == {TaskState.SKIPPED: DOCUMENTS}
        assert len([text for text in texts if text != "width"]) == len(embedded)


class Watched(FakeEmbed):
    """An embedder, with a list of what it is asked."""

    def __init__(self, model: Embed, texts: list[str]) -> None:
        self._model, self._asked = model, texts
        self.identity, self.batch = model.identity, model.batch

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._asked += texts
        return (await self._model(texts)).vectors


@pytest.mark.thorough
async def test_two_processes_add_to_one_data_folder(tmp_path: Path) -> None:
    processes = await asyncio.gather(*(started(tmp_path, name, 6, 6) for name in ("one", "two")))
    await asyncio.gather(*(said(process, "ended done") for process in processes))
    await asyncio.gather(*(process.wait() for process in processes))
    assert len(stored_files(tmp_path)) == 6
    async with Engine(Settings(data=tmp_path, ollama_url="", workers=1)) as engine:
        books = engine.part(LibraryConnections).library
        assert list(await books.collections()) == ["one", "two"]
        await books.drop("one")
        assert len(stored_files(tmp_path)) == 6
        (first, *_) = await books.documents("two")
        assert (await books.file(first.key)).body
        await books.drop("two")
        assert stored_files(tmp_path) == set()


async def test_question_finds_the_answering_page_of_a_pdf(tmp_path: Path) -> None:
    pages = (
        ["1"],
        ["Bread rises because yeast makes gas."],
        ["Windmills turn in the wind."],
        ["Glaciers carve valleys.", "3"],
    )
    (tmp_path / "paper.pdf").write_bytes(pdf(*pages))
    (tmp_path / "Cats, asleep.md").write_text("# Cats\n\nCats sleep most of the day.")
    process = await asyncio.create_subprocess_exec(
        *(
            sys.executable,
            "-m",
            "core",
            "ingest",
            "books",
            str(tmp_path / "paper.pdf"),
            str(tmp_path / "Cats, asleep.md"),
        ),
        cwd=ROOT,
        env={"OPENQUERY_DATA": str(tmp_path / "data"), "OLLAMA_HOST": "", "PATH": ""},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert sorted(out.decode().splitlines()) == [
        "+ Cats, asleep.md: 1 passage",
        "+ paper.pdf: 3 passages, 4 pages",
    ]
    assert err.decode().startswith("2 added, 0 left out, 0 failed; 4 passages")
    assert process.returncode == 0
    async with Engine(Settings(data=tmp_path / "data", ollama_url="", workers=1)) as engine:
        (best, *others) = await engine.part(LibraryConnections).library.search(
            "books", "How do glaciers shape the land?", 4
        )
        assert (best.passage.source, best.passage.page) == ("paper.pdf", 4)
        assert best.score > max(other.score for other in others)
        (only,) = await engine.part(LibraryConnections).library.search(
            "books", "valleys", 4, {"source": "Cats, asleep.md"}
        )
        assert only.passage.title == "Cats"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["books", "nowhere.pdf"], 2, "nowhere.pdf does not exist"),
        (["no/name", "README.md"], 2, "cannot be a collection's name"),
        (["books"], 2, "required"),
    ],
)
def test_the_command_line_says_what_is_wrong(
    arguments: list[str],
    code: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path))
    try:
        ended = main(["ingest", *arguments])
    except SystemExit as error:
        ended = int(error.code or 0)
    assert ended == code
    assert words in capsys.readouterr().err
