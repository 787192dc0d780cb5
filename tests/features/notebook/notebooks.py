"""Notebooks run from top to bottom by a kernel of their own, as people run them.

`python -m tests.features.notebook.notebooks` writes the outputs of the tour in notebooks/.
"""

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
TOUR = ROOT / "notebooks" / "tour.ipynb"
PATIENCE = 300
"""Seconds that a cell may take on a loaded machine."""


def parsed(document: bytes) -> Any:
    """The notebook, which must be valid."""
    import nbformat  # loads grammars for seconds, in every worker if it stood above

    notebook = nbformat.reads(document.decode(), as_version=4)
    nbformat.validate(notebook)
    return notebook


async def executed(document: bytes, folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The notebook with its outputs, run in `folder` by OpenQuery with the data folder `data`.

    Raises:
        CellExecutionError: when a cell fails.
    """
    from nbclient import NotebookClient

    notebook = parsed(document)
    environment = {
        "PYTHONPATH": str(ROOT),
        "OPENQUERY_DATA": str(data),
        "OPENQUERY_WORKERS": "1",
        "OLLAMA_HOST": "",
        "IPYTHONDIR": str(data / "ipython"),
        "JUPYTER_PLATFORM_DIRS": "1",
    }
    for name, value in environment.items():
        monkeypatch.setitem(os.environ, name, value)
    client = NotebookClient(
        notebook,
        timeout=PATIENCE,
        startup_timeout=PATIENCE,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    return await client.async_execute()


def outputs(notebook: Any) -> dict[str, str]:
    """The plain text that each cell of code showed last, by its source."""
    return {
        cell.source: output.data["text/plain"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type in ("execute_result", "display_data")
    }


async def _write_tour() -> None:
    import nbformat

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        notebook = await executed(TOUR.read_bytes(), Path(folder), Path(folder), patch)
    TOUR.write_text(nbformat.writes(notebook) + "\n", "utf-8")


if __name__ == "__main__":
    asyncio.run(_write_tour())
