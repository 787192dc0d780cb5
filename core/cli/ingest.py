"""`python -m core ingest`: documents into a collection, with a line for each on stdout."""

from __future__ import annotations

import argparse
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
_LOOK_EVERY = 0.2
_SIGNS = {TaskState.DONE: "+", TaskState.SKIPPED: "=", TaskState.FAILED: "!"}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m core ingest",
        description="Add documents to a collection: PDF, HTML, Markdown, text, DOCX, ODT, PPTX, XLSX, EPUB, CSV, or a "
        "zip of them. What is there already is not read or embedded again.",
        epilog="Each line is + added, = there already, ! not added and why. Exit codes: 0 all of them are in it, "
        f"{ReadFailed.exit_code} some are not, {LibraryFailed.exit_code} it was interrupted; the same command goes on.",
    )
    top.add_argument("collection", help="its name; it is made when there is none")
    top.add_argument("sources", nargs="+", help="files, folders, web addresses, sitemaps (…/sitemap.xml)")
    return top


async def ingest_in_terminal(collection: str, sources: Sequence[str], settings: Settings) -> int:
    """Add the documents and return the exit code, after going on with what an earlier command left behind.

    Raises:
        OpenQueryError: when nothing could be begun.
    """
    items = [_item(source) for source in sources]
    # Whoever types a path at the server's own prompt is its operator.
    named = [item.path.absolute() for item in items if isinstance(item, Folder)]
    async with Engine(settings, folders=named) as engine:
        codes = [await _told(left) for left in await engine.library.resume()]
        codes.append(await _told(await engine.library.ingest(collection, items)))
        return max(codes)


def _item(source: str) -> IngestSource:
    if not _WEB.match(source):
        return Folder(Path(source))
    return Sitemap(source) if _SITEMAP.search(source) else Address(source)


async def _told(ingest: RunningIngest) -> int:
    """Print each report once it is final."""
    said: set[int] = set()
    while True:
        progress = ingest.progress
        for report in progress.reports:
            if report.state.ended and report.number not in said:
                said.add(report.number)
                print(_line(report), flush=True)
        if not progress.live:
            break
        if sys.stderr.isatty():
            print(f"\r{progress.ended} of {len(progress.reports)} ", end="", file=sys.stderr, flush=True)
        await asyncio.sleep(_LOOK_EVERY)
    counts = progress.counts
    print(
        f"{counts[TaskState.DONE]} added, {counts[TaskState.SKIPPED]} there already, {counts[TaskState.FAILED]} not added; "
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
    told = ", ".join(filter(None, facts))
    return f"{_SIGNS[report.state]} {report.name}{f': {told}' if told else ''}"
