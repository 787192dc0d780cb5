"""The notebook of the tour and the guide's cells run, without a key and without a network."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from core.export.formats import export
from core.export.notebook_file import notebook_file
from tests.export.test_bundle import RECORDED
from tests.notebook.notebooks import ROOT, TOUR, executed, parsed

pytestmark = pytest.mark.slow


def shown_types(notebook: Any) -> dict[str, list[list[str]]]:
    """The media types of each output, by the source of its cell."""
    return {
        cell.source: [sorted(output.data) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    }


async def test_the_tour_runs_and_shows_what_it_is_stored_with(
    tmp_path: Path, warm_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = parsed(TOUR.read_bytes())
    notebook = await executed(TOUR.read_bytes(), tmp_path, warm_folder, monkeypatch)
    assert shown_types(notebook) == shown_types(stored)
    assert all(shown_types(stored).values())


def test_the_stored_outputs_name_no_folder_of_a_machine_and_no_warning() -> None:
    text = TOUR.read_text("utf-8")
    assert not re.search(r"/(?:home|root|tmp|Users|work|usr)/|[A-Z]:\\\\|Traceback|Warning", text)
    assert parsed(text.encode()).cells


async def test_the_cells_of_the_guide_run(
    tmp_path: Path, warm_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "notebook.md").read_text("utf-8"), re.S)
    assert len(blocks) == 5
    (tmp_path / "run.zip").write_bytes(export(RECORDED, ".zip"))
    document = json.loads(notebook_file(RECORDED.run))
    cell = next(cell for cell in document["cells"] if cell["cell_type"] == "code")
    order = (0, 2, 3, 4, 1)  # the run that is tuned is the one that was asked
    document["cells"] = [{**cell, "id": f"block-{number}", "source": blocks[number]} for number in order]
    await executed(json.dumps(document).encode(), tmp_path, warm_folder, monkeypatch)
    assert (tmp_path / "run.html").stat().st_size > 100_000
