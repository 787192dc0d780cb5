"""A task's bytes: from where they are kept, the server's disk or the web; and what is inside zips and sitemaps."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from core.library.archives import members
from core.library.document_files import DocumentFiles, digest_of
from core.library.ingest_records import Taken, Task, TaskKind
from core.library.plan_ingest import IngestLimits, failed_task, file_task, name_of, too_large
from core.library.web_documents import Fetch, fetched, listed
from core.model import SkipReason, Unreadable
from core.ports import Extract
from core.reading.file_types import ZIP, kind_of

_BATCH_FILES = 20
_BATCH_BYTES = 20_000_000
_LARGEST_ZIP = 10
"""Times the limit of a document, for a zip that is read from a disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedTask:
    """A task that knows its bytes' digest and type, with the bytes. `fresh` ones are not kept yet."""

    task: Task
    body: bytes
    fresh: bool = False

    @property
    def url(self) -> str:
        """The document's address; empty for files."""
        return "" if self.task.kind is TaskKind.PATH else self.task.place


async def fetch_task(task: Task, files: DocumentFiles, web: Fetch, bounds: IngestLimits) -> FetchedTask:
    """Raises Unreadable: when the bytes cannot be had, are too many, or of a type that is not read."""
    body = await asyncio.to_thread(files.get, task.digest) if task.digest else None
    if body is not None:
        return FetchedTask(task=task, body=body)
    declared = ""
    match task.kind:
        case TaskKind.PATH:
            body = await asyncio.to_thread(_from_disk, task.place, bounds)
        case TaskKind.ADDRESS:
            document = await fetched(task.place, web, bounds.file)
            body, declared = document.body, document.media_type
            task = replace(task, place=document.url, charset=document.charset or "")
        case _:
            raise Unreadable(SkipReason.BROKEN, "its bytes are no longer kept; add it again")
    if await asyncio.to_thread(files.size) + len(body) > bounds.total:
        raise Unreadable(SkipReason.TOO_LARGE, "the library is full (OPENQUERY_LIBRARY_MB)")
    name = _file_name(task.place) if task.kind is TaskKind.ADDRESS else task.name
    media_type = await asyncio.to_thread(kind_of, name, body, declared)
    return FetchedTask(
        task=replace(task, digest=digest_of(body), media_type=media_type), body=body, fresh=True
    )


async def tasks_from_zip(
    task: Task, body: bytes, files: DocumentFiles, bounds: IngestLimits
) -> AsyncIterator[list[Taken]]:
    """The documents in a zip, some at a time. Raises Unreadable: when it is damaged or unpacks to too much."""
    room = max(0, bounds.total - await asyncio.to_thread(files.size))
    found = members(task.name, body, each=bounds.file, together=room)
    while batch := await asyncio.to_thread(_batch, found, bounds):
        yield batch


async def tasks_from_sitemap(task: Task, web: Fetch, extract: Extract, limit: int) -> tuple[list[Taken], str]:
    """The documents that a sitemap names, and what was left out. Raises Unreadable: when it cannot be had."""
    addresses, left_out = await listed(task.place, web, extract, limit)
    return [(Task(kind=TaskKind.ADDRESS, name=name_of(url), place=url), None) for url in addresses], left_out


def _batch(found: Iterator[tuple[str, bytes | Unreadable]], bounds: IngestLimits) -> list[Taken]:
    taken: list[Taken] = []
    size = 0
    for name, content in found:
        taken.append(_member(name_of(name), content, bounds))
        size += 0 if isinstance(content, Unreadable) else len(content)
        if len(taken) >= _BATCH_FILES or size >= _BATCH_BYTES:
            break
    return taken


def _member(name: str, content: bytes | Unreadable, bounds: IngestLimits) -> Taken:
    if isinstance(content, Unreadable):
        return failed_task(name, content), None
    task, body = file_task(name, content, bounds)
    if task.media_type == ZIP:
        return failed_task(name, Unreadable(SkipReason.UNSUPPORTED, "a zip inside a zip is not opened")), None
    return task, body


def _from_disk(path: str, bounds: IngestLimits) -> bytes:
    most = _LARGEST_ZIP * bounds.file
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(file, "rb") as stream:
            body = stream.read(bounds.file + 1)
            if len(body) > bounds.file and body.startswith(b"PK"):
                body += stream.read(most + 1 - len(body))
    except OSError as error:
        raise Unreadable(SkipReason.BROKEN, f"cannot be read: {error.strerror}") from error
    if len(body) > most or (len(body) > bounds.file and kind_of(path, body) != ZIP):
        raise Unreadable(SkipReason.TOO_LARGE, too_large(bounds))
    return body


def _file_name(url: str) -> str:
    return PurePosixPath(unquote(urlsplit(url).path)).name
