"""The bytes of a task: from storage, disk or the web, and the tasks inside zips and sitemaps."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from core.library.archives import members
from core.library.document_files import DocumentFiles, digest_of
from core.library.ingests import IngestTask, TaskKind
from core.library.plan_ingest import IngestLimits, document_name, failed_task, file_task, too_large
from core.library.web_documents import fetch_document, sitemap_addresses
from core.model import SkipReason, Unreadable
from core.ports import Extract, Fetch
from core.reading.file_types import ZIP, kind_of

_BATCH_FILES = 20
_BATCH_BYTES = 20_000_000
_LARGEST_ZIP = 10
"""Times the limit of a document, for a zip that is read from disk."""


async def fetch_task(
    task: IngestTask, files: DocumentFiles, web: Fetch, limits: IngestLimits
) -> tuple[IngestTask, bytes]:
    """The task with digest and media type, and its bytes; `task.body` has them where they are not stored yet.

    Raises:
        Unreadable: when the bytes cannot be read, are too many, or of an unsupported type.
    """
    body = await asyncio.to_thread(files.get, task.digest) if task.digest else None
    if body is not None:
        return task, body
    declared = ""
    match task.kind:
        case TaskKind.PATH:
            body = await asyncio.to_thread(_read_file, task.location, limits)
        case TaskKind.ADDRESS:
            document = await fetch_document(task.location, web, limits.file)
            body, declared = document.body, document.media_type
            task = replace(task, location=document.url, charset=document.charset or "")
        case _:
            raise Unreadable(SkipReason.BROKEN, "its file is no longer stored; add it again")
    if await asyncio.to_thread(files.size) + len(body) > limits.total:
        raise Unreadable(SkipReason.TOO_LARGE, "the library is full (OPENQUERY_LIBRARY_MB)")
    name = _file_name(task.location) if task.kind is TaskKind.ADDRESS else task.name
    media_type = await asyncio.to_thread(kind_of, name, body, declared)
    return replace(task, digest=digest_of(body), media_type=media_type, body=body), body


async def tasks_from_zip(
    task: IngestTask, body: bytes, files: DocumentFiles, limits: IngestLimits
) -> AsyncIterator[list[IngestTask]]:
    """Tasks for the documents in a zip, in batches.

    Raises:
        Unreadable: when the zip is damaged, or unpacks to more than the library may still hold.
    """
    free = max(0, limits.total - await asyncio.to_thread(files.size))
    found = members(task.name, body, each=limits.file, together=free)
    while batch := await asyncio.to_thread(_batch, found, limits):
        yield batch


async def tasks_from_sitemap(
    task: IngestTask, web: Fetch, extract: Extract, limit: int
) -> tuple[list[IngestTask], str]:
    """Tasks for at most `limit` addresses in a sitemap, and what was left out, in words.

    Raises:
        Unreadable: when the sitemap cannot be read.
    """
    addresses, left_out = await sitemap_addresses(task.location, web, extract, limit)
    tasks = [IngestTask(kind=TaskKind.ADDRESS, name=document_name(url), location=url) for url in addresses]
    return tasks, left_out


def _batch(found: Iterator[tuple[str, bytes | Unreadable]], limits: IngestLimits) -> list[IngestTask]:
    tasks: list[IngestTask] = []
    size = 0
    for name, content in found:
        tasks.append(_member(document_name(name), content, limits))
        size += 0 if isinstance(content, Unreadable) else len(content)
        if len(tasks) >= _BATCH_FILES or size >= _BATCH_BYTES:
            break
    return tasks


def _member(name: str, content: bytes | Unreadable, limits: IngestLimits) -> IngestTask:
    if isinstance(content, Unreadable):
        return failed_task(name, content)
    task = file_task(name, content, limits)
    if task.media_type == ZIP:
        return failed_task(name, Unreadable(SkipReason.UNSUPPORTED, "a zip inside a zip is not opened"))
    return task


def _read_file(path: str, limits: IngestLimits) -> bytes:
    most = _LARGEST_ZIP * limits.file
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(file, "rb") as stream:
            body = stream.read(limits.file + 1)
            if len(body) > limits.file and body.startswith(b"PK"):
                body += stream.read(most + 1 - len(body))
    except OSError as error:
        raise Unreadable(SkipReason.BROKEN, f"cannot be read: {error.strerror}") from error
    if len(body) > most or (len(body) > limits.file and kind_of(path, body) != ZIP):
        raise Unreadable(SkipReason.TOO_LARGE, too_large(limits))
    return body


def _file_name(url: str) -> str:
    return PurePosixPath(unquote(urlsplit(url).path)).name
