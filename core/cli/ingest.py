"""`openquery ingest`: add documents to a collection, with one line a document on stdout."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from core.config.settings import Settings
from core.errors import LibraryFailed, ReadFailed
from core.library.ingest_reports import IngestState, Report, TaskState
from core.library.ingest_sources import Address, Folder, IngestSource, Sitemap
from core.library.ingest_tasks import RunningIngest
from core.runtime.engine import Engine

_WEB = re.compile(r"(?i)https?://")
_SITEMAP = re.compile(r"(?i)sitemap[^/]*\.xml(?:\.gz)?(?:\?|$)")
_POLL_SECONDS = 0.2
_MARKS = {TaskState.DONE: "+", TaskState.SKIPPED: "=", TaskState.FAILED: "!"}


async def ingest_in_terminal(collection: str, sources: Sequence[str], settings: Settings) -> int:
    """Add documents to a collection, after resuming the ingests that an earlier command did not finish.

    Args:
        collection: its name; the collection is created if it does not exist.
        sources: paths of files and folders, web addresses, addresses of sitemaps.
        settings: where the library is and which embedder fills it.

    Returns:
        The exit code: 0 when every document is in the collection, else that of ReadFailed or LibraryFailed.

    Raises:
        OpenQueryError: when the ingest cannot be started.
    """
    items = [_parsed(source) for source in sources]
    # Whoever types a path at the server's own prompt is its operator, and may read it.
    folders = [item.path.absolute() for item in items if isinstance(item, Folder)]
    async with Engine(settings, folders=folders) as engine:
        codes = [await _followed(unfinished) for unfinished in await engine.library.resume()]
        codes.append(await _followed(await engine.library.ingest(collection, items)))
        return max(codes)


def _parsed(source: str) -> IngestSource:
    if not _WEB.match(source):
        return Folder(Path(source))
    return Sitemap(source) if _SITEMAP.search(source) else Address(source)


async def _followed(ingest: RunningIngest) -> int:
    """Print each report once it is final, then a summary. Returns the exit code."""
    printed: set[int] = set()
    while True:
        progress = ingest.progress
        for report in progress.reports:
            if report.state.ended and report.number not in printed:
                printed.add(report.number)
                print(_line(report), flush=True)
        if not progress.live:
            break
        if sys.stderr.isatty():
            print(f"\r{progress.ended} of {len(progress.reports)} ", end="", file=sys.stderr, flush=True)
        await asyncio.sleep(_POLL_SECONDS)
    counts = progress.counts
    print(
        f"{counts[TaskState.DONE]} added, {counts[TaskState.SKIPPED]} already there, {counts[TaskState.FAILED]} failed; "
        f"{progress.passages:,} passages in {progress.seconds:.1f} s. {progress.message}".rstrip(),
        file=sys.stderr,
    )
    if progress.course is not IngestState.DONE:
        return LibraryFailed.exit_code
    return ReadFailed.exit_code if counts[TaskState.FAILED] else 0


def _line(report: Report) -> str:
    facts = (
        f"{report.passages:,} passages" if report.passages else "",
        f"{report.pages:,} pages" if report.pages else "",
        report.reason,
    )
    details = ", ".join(filter(None, facts))
    return f"{_MARKS[report.state]} {report.name}{f': {details}' if details else ''}"
