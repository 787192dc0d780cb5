"""The notebook of the tour and the guide's cells run, without a key and without a network."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.features.share.formats import export, notebook_file
from tests.features.notebook.notebooks import ROOT, TOUR, executed, outputs, parsed
from tests.storage.test_bundle import RECORDED

pytestmark = pytest.mark.slow


def shown_types(notebook: Any) -> dict[str, list[list[str]]]:
    """The media types of each output, by the source of its cell."""
    return {
        cell.source: [sorted(output.data) for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    }


def without_times(notebook: Any) -> dict[str, str]:
    """What each cell showed, without durations and the widths of columns that they decide."""
    return {
        source: re.sub(r"\s+", " ", re.sub(r"\d+(?:\.\d+)? m?s\b", "time", text))
        for source, text in outputs(notebook).items()
        if not text.startswith("VBox(")
    }


def sentences(notebook: Any) -> Iterator[str]:
    """The sentences with figures that the prose of the tour has, made from what its cells show."""
    shown = {source.splitlines()[-1]: text for source, text in outputs(notebook).items()}
    counts = {
        step.strip(): int(count)
        for count, step in re.findall(r"^(\d+) +(.*?)(?:  |$)", shown["run.attrition"], re.M)
    }
    yield (
        f"{counts['fetched']} pages became {counts['passages']} passages, of which {counts['in the context']} are in the "
        f"context and {counts['cited']} were cited."
    )
    cells = [source for source in outputs(notebook) if ".why_not(" in source]
    left_out, let_in = (outputs(notebook)[source] for source in cells)
    (rank,) = re.findall(r"Ranked (\d+)th of .*: limit per page reached", left_out)
    yield f"It was found, read and ranked {rank}th, and then its page already had 3 passages in the context."
    assert "✓ in the context" in let_in
    (top_k,) = re.findall(r"top_k=(\d+)", cells[1])
    yield f"with {int(top_k) - counts['in the context']} passages more, the sentence is in the context."
    compared = shown["run.compare(with_query)"]
    (entered,), (new,) = re.findall(r"Context: (\d+) entered", compared), re.findall(r"(\d+) new\b", compared)
    pages = len(re.findall(r"^\W*\+ .* · https://", compared, re.M))
    yield f"finds {pages} more pages"
    yield f"{new} new passages, of which {entered} are in the context."


async def test_tour_runs_and_gives_its_stored_outputs(
    tmp_path: Path, warm_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = parsed(TOUR.read_bytes())
    notebook = await executed(TOUR.read_bytes(), tmp_path, warm_folder, monkeypatch)
    assert shown_types(notebook) == shown_types(stored)
    assert all(shown_types(stored).values())
    assert without_times(notebook) == without_times(stored), (
        "python -m tests.features.notebook.notebooks writes them again"
    )
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    missing = [sentence for sentence in sentences(notebook) if sentence not in prose]
    assert missing == []


def test_stored_outputs_name_no_local_folder_and_no_warning() -> None:
    text = TOUR.read_text("utf-8")
    assert not re.search(r"/(?:home|root|tmp|Users|work|usr)/|[A-Z]:\\\\|Traceback|Warning", text)
    assert parsed(text.encode()).cells


@pytest.mark.thorough
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
