"""Questions asked in a notebook or a script, and runs opened by file or id."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import openquery
from core.errors import BadInput
from core.features.share.without_texts import without_texts
from core.runtime.registry import RunRegistry
from core.storage.bundle import run_of_bundle, to_bundle
from tests.storage.test_bundle import BUNDLE, RECORDED

QUESTION = "How does chunk overlap affect retrieval?"


async def test_question_in_one_line_is_a_run_of_history(
    registry: RunRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await openquery.research(QUESTION, backend="demo", top_k=4)
    assert isinstance(run, openquery.NotebookRun)
    assert "overlap" in run.text
    assert len(run.sources) == run.knobs.rank.top_k == 4
    assert "done" in repr(run.phases)

    run.label(1, "relevant")
    again = openquery.open_run(run.id)
    assert again.metrics().value.grades == run.metrics().value.grades
    smaller = again.retune(size=300)
    assert len(smaller.passages) > len(again.passages)

    monkeypatch.chdir(tmp_path)
    run.export("any name.zip")
    registry.delete(run.id)
    assert openquery.open_run(run.id).text == run.text


def test_bundle_with_texts_is_opened_before_one_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.offsets.zip").write_bytes(to_bundle(without_texts(RECORDED)))  # comes first by name
    Path("run.zip").write_bytes(to_bundle(RECORDED))
    run = openquery.open_run(RECORDED.run.id)
    assert [passage.text for passage in run.run.passages] == [p.text for p in RECORDED.run.passages]


async def test_invalid_question_is_told_before_anything_is_asked(registry: RunRegistry) -> None:
    for question, values in ((" ", {}), (QUESTION, {"top": 3}), (QUESTION, {"top_k": "many"})):
        with pytest.raises(BadInput):
            await openquery.research(question, **values)
    assert registry.live_runs() == 0


async def test_a_cell_that_is_interrupted_stops_its_run(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, started = registry.start, list[str]()

    def start_and_interrupt(*given: Any, **options: Any) -> str:
        started.append(start(*given, **options))
        cell.cancel()
        return started[-1]

    monkeypatch.setattr(registry, "start", start_and_interrupt)
    cell = asyncio.create_task(openquery.research(QUESTION, backend="demo"))
    with pytest.raises(asyncio.CancelledError):
        await cell
    async with asyncio.timeout(60):
        while registry.live_runs():
            await asyncio.sleep(0.01)
    assert openquery.open_run(started[0]).status in ("stopped", "done")


def test_missing_run_is_told_with_advice(
    registry: RunRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.zip").write_bytes(b"PK no zip at all")
    for reference in ("kX3v9TqWbR2mLc8yHf0a1A", "run.zip", "run.json"):
        with pytest.raises(BadInput, match="There is no run") as refused:
            openquery.open_run(reference)
        assert "Export the run as .zip into the folder of this notebook" in refused.value.hint
    with pytest.raises(BadInput, match="cannot be read"):
        openquery.open_run("other.zip")
    Path("mine.zip").write_bytes(BUNDLE)
    assert openquery.open_run(RECORDED.run.id).run.question == RECORDED.run.question


def test_file_that_is_no_bundle_has_no_run() -> None:
    assert run_of_bundle(to_bundle(RECORDED)) == RECORDED.run.id
    assert [run_of_bundle(document) for document in (b"", b"PK", BUNDLE[:100], BUNDLE[100:])] == [""] * 4


def test_importing_openquery_loads_nothing_heavy() -> None:
    program = (
        "import sys; from openquery import open_run, research; "
        "print({'pandas', 'plotly', 'ipywidgets', 'IPython', 'numpy', 'pydantic'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "set()\n"
    program = "import sys; import core.features.notebook.notebook_run; print({'pandas', 'plotly', 'ipywidgets', 'IPython'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "set()\n"
