"""Questions and opened runs in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from core.features.notebook import process

if TYPE_CHECKING:  # everything else is imported on use: a cell that imports OpenQuery returns at once
    from core.config.knobs import Knobs
    from core.features.notebook.notebook_run import NotebookRun
    from core.ports import Ports
    from core.run.recorder import Listener
    from core.run.state import Run


@overload
async def research(
    question: str, knobs: Knobs, ports: Ports, listen: Listener | None = None, **options: Any
) -> Run: ...


@overload
async def research(
    question: str, knobs: Knobs | None = None, *, queries: Sequence[str] = (), **values: Any
) -> NotebookRun: ...


async def research(
    question: str,
    knobs: Knobs | None = None,
    ports: Ports | None = None,
    listen: Listener | None = None,
    *,
    queries: Sequence[str] = (),
    **values: Any,
) -> NotebookRun | Run:
    """Answer a question, and show its progress: `await research("…", top_k=3)`.

    The run is in the history, like a run of the pages. Cancelling stops the run, which keeps its results so far. With
    `ports` this is `core.pipeline.research`, which takes `values` as its options, shows nothing and returns a `Run`.

    Args:
        question: the question to answer.
        knobs: the settings of the run.
        ports: search, web, extraction, models, by default those of the environment's settings.
        listen: called with every event and the run after it, only with `ports`.
        queries: search queries, in place of queries of the chat model.
        values: settings by name, such as `top_k=3`, which override `knobs`.

    Raises:
        BadInput: when the question is empty or too long, or a setting is unknown or out of bounds.
    """
    from core import pipeline
    from core.config.knob_changes import with_values
    from core.config.knobs import Knobs
    from core.features.notebook.live_progress import LiveProgress

    if ports is not None:
        return await pipeline.research(question, knobs or Knobs(), ports, listen, queries=queries, **values)
    knobs, progress = with_values(knobs or Knobs(), values), LiveProgress()
    runs = await asyncio.to_thread(process.registry)
    run_id = runs.start(question, knobs, queries=queries, observer=progress.observe)
    try:
        await progress.show()
    except asyncio.CancelledError:
        runs.stop(run_id)
        progress.draw()
        raise
    # The run's work may last a moment longer than its answer, and must not overlap with embedding.
    await asyncio.to_thread(runs.wait_for_vectors, run_id)
    runs.complete(run_id)
    await asyncio.to_thread(runs.wait_for_vectors, run_id)
    return _stored_run(run_id)


def open_run(reference: str | Path) -> NotebookRun:
    """Open the run of a `.zip` or `.json` export, or of an id.

    For an id, bundles in the current folder come first, preferably with page texts, then the history. Labels of a
    file's run are kept in memory, labels of a run in the history are stored.

    Raises:
        BadInput: for an unknown run, or a file that is no exported run.
        StoreFailed: when the history cannot be read.
        OSError: when a file cannot be read.
    """
    from core.cli.run_files import read_bounded
    from core.errors import BadInput
    from core.features.notebook.notebook_run import NotebookRun
    from core.storage.bundle import recorded_run, run_of_bundle
    from core.text.sanitize import one_line

    path = Path(reference)
    files = [path] if path.is_file() else sorted(Path().glob("*.zip"))
    documents = ((file, read_bounded(file)) for file in files)
    runs = [
        recorded_run(document)
        for file, document in documents
        if file == path or run_of_bundle(document) == str(reference)
    ]
    if runs:
        return NotebookRun(
            min(runs, key=lambda recorded: any(page.lacks_text for page in recorded.run.pages.values()))
        )
    if path.suffix in {".zip", ".json"} or not process.registry().get(str(reference)):
        name = one_line(str(reference), 100)
        raise BadInput(
            f"There is no run {name}: no such file, no .zip of it in this folder, and none in the history.",
            hint="Export the run as .zip into the folder of this notebook (Export on its page, or "
            "`openquery export RUN --out run.zip`), and run this cell again.",
        )
    return _stored_run(str(reference))


def _stored_run(run_id: str) -> NotebookRun:
    from core.errors import BadInput
    from core.features.notebook.notebook_run import NotebookRun

    runs = process.registry()
    recorded = runs.recorded(run_id)
    if recorded is None:
        raise BadInput("This run was deleted meanwhile.", hint="Ask the question again.")
    return NotebookRun(recorded, store=lambda label: runs.labels.add(recorded.run.question, run_id, label))
