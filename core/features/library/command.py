"""The `ingest` command: add documents to a collection, with a line for each on stdout."""

import argparse
import asyncio
import re
import shlex
import time
from pathlib import Path

from core.cli.printing import print_note, print_status, print_text, warn_of_unencrypted
from core.cli.shared_arguments import settings_of
from core.config.access import NO_ACCESS
from core.errors import LibraryFailed, ReadFailed
from core.features.library.ingests import (
    Address,
    Folder,
    IngestSource,
    IngestState,
    IngestTask,
    Sitemap,
    TaskState,
)
from core.features.library.running_ingest import RunningIngest
from core.features.library.services.connections import LibraryConnections
from core.features.library.services.ingest_workers import ingest_workers
from core.model.library import checked_name
from core.runtime.engine import Engine
from core.text.sanitize import pluralize

_WEB = re.compile(r"(?i)https?://")
_SITEMAP = re.compile(r"(?i)sitemap[^/]*\.xml(?:\.gz)?(?:\?|$)")
_POLL_SECONDS = 0.2
_SIGNS = {TaskState.DONE: "+", TaskState.SKIPPED: "=", TaskState.FAILED: "!"}


async def ingest_in_terminal(options: argparse.Namespace) -> int:
    """Resume unfinished ingests, add the documents, and return the exit code.

    The last line is a command to ask the collection. `workers` processes of this machine, or the workers of a Dask
    `scheduler`, read, split and embed the documents, if given.

    Raises:
        OpenQueryError: when the ingest could not be started, or the cluster cannot be used.
    """
    collection, settings = options.collection, settings_of(options)
    documents = [_source(text) for text in options.sources]
    # A path typed at the server's own prompt is the operator's.
    folders = [source.path.absolute() for source in documents if isinstance(source, Folder)]
    warn_of_unencrypted(options.scheduler)
    async with ingest_workers(options.scheduler, options.workers) as jobs, Engine(settings) as engine:
        connections = engine.part(LibraryConnections)
        connections.ingest_with(jobs, folders)
        library = connections.library
        codes = [await _report(unfinished) for unfinished in await library.ingests.resume()]
        _, note = await engine.models.embedding_model(NO_ACCESS, (collection,))
        if note:
            print_note(note)
        codes.append(await _report(await library.ingests.add(collection, documents)))
        if questions := await library.example_questions([collection]):
            question = shlex.quote(questions[0])
            flags = f"--origin library --search-collections {checked_name(collection)}"
            print_note(f"To ask it: {options.program} ask {question} {flags}")
        return max(codes)


def _source(text: str) -> IngestSource:
    if not _WEB.match(text):
        return Folder(Path(text))
    return Sitemap(text) if _SITEMAP.search(text) else Address(text)


async def _report(ingest: RunningIngest) -> int:
    """Print each finished task, and return the exit code."""
    printed: set[int] = set()
    while True:
        began = time.monotonic()
        progress = ingest.progress
        for task in progress.tasks:
            if task.state.ended and task.number not in printed:
                printed.add(task.number)
                print_status()
                print_text(_line(task))
        if not progress.live:
            break
        print_status(f"{progress.ended:,} of {pluralize(len(progress.tasks), 'document')}")
        # Polling slows with more tasks, so spend at most a tenth of the time.
        await asyncio.sleep(max(_POLL_SECONDS, 9 * (time.monotonic() - began)))
    print_status()
    counts = progress.counts
    print_note(
        f"{counts[TaskState.DONE]} added, {counts[TaskState.SKIPPED]} left out, {counts[TaskState.FAILED]} failed; "
        f"{pluralize(progress.passages, 'passage')} in {progress.seconds:.1f} s. {progress.message}".rstrip()
    )
    if progress.state is not IngestState.DONE:
        return LibraryFailed.exit_code
    return ReadFailed.exit_code if counts[TaskState.FAILED] else 0


def _line(task: IngestTask) -> str:
    facts = (
        pluralize(task.passages, "passage") if task.passages else "",
        pluralize(task.pages, "page") if task.pages else "",
        task.reason,
    )
    details = ", ".join(filter(None, facts))
    return f"{_SIGNS[task.state]} {task.name}{f': {details}' if details else ''}"
