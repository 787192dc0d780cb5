"""A run as a notebook: run from top to bottom beside its bundle, and clear about a bundle that is not there."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.features.share.formats import export
from core.run import events as e
from core.run.recorded_run import RecordedRun
from tests.features.notebook.notebooks import executed, outputs, parsed
from tests.features.share.large_run import large_run
from tests.features.share.test_formats import HOSTILE
from tests.samples import EVENTS, records
from tests.storage.test_bundle import RECORDED

pytestmark = pytest.mark.slow

FAILED = RecordedRun.folded(
    records(EVENTS[0], e.PhaseStarted(e.Phase.PLAN), e.RunFailed("search", "It is down.", "Wait.", 3))
)


@pytest.mark.parametrize(
    "recorded",
    [
        pytest.param(RecordedRun.folded(large_run(80)), marks=pytest.mark.thorough),
        RECORDED,
        pytest.param(FAILED, marks=pytest.mark.thorough),
    ],
    ids=["run", "sample", "failed"],
)
async def test_an_exported_notebook_shows_each_phase_beside_its_bundle(
    recorded: RecordedRun, tmp_path: Path, warm_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mailed"
    folder.mkdir()
    (folder / "a run.zip").write_bytes(export(recorded, ".zip"))
    notebook = await executed(export(recorded, ".ipynb"), folder, warm_folder, monkeypatch)
    shown = outputs(notebook)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert set(shown) == set(code)
    assert ("run.attribution" in code) == bool(recorded.run.sources)
    assert ("run.compare(tuned)" in code) == (recorded.run.ranking is not None)
    assert recorded.run.question in shown[code[0]]


async def test_notebook_without_its_bundle_gives_advice_without_a_traceback(
    tmp_path: Path, warm_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbclient.exceptions import CellExecutionError

    folder = tmp_path / "mailed"
    folder.mkdir()
    with pytest.raises(CellExecutionError) as failed:
        await executed(export(RECORDED, ".ipynb"), folder, warm_folder, monkeypatch)
    assert "There is no run run-1" in failed.value.traceback
    assert "Export the run as .zip into the folder of this notebook" in failed.value.traceback
    assert ".py" not in failed.value.traceback


def test_question_never_becomes_markdown_html_mathematics_or_code() -> None:
    hostile = f"{HOSTILE} $$x$$ \\begin{{x}} **b** `c` [a](javascript:b) \" ' \\ # _i_"
    run = replace(RECORDED.run, question=hostile, id="'\"]\nimport os\n")
    document = export(replace(RECORDED, run=run), ".ipynb")
    cells = parsed(document).cells
    title = cells[0]["source"].partition("\n")[0]
    assert not set(title.removeprefix("# ")) & set("<>$\\*`[]()_'\"{}~^")
    compile(cells[1]["source"], "cell", "exec")
    assert "\nimport os" not in cells[1]["source"]
