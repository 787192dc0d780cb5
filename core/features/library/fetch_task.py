"""The bytes of a task from storage, disk or the web, and tasks in zips and sitemaps."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Protocol
from urllib.parse import unquote, urlsplit

from core.config.knobs import ReadKnobs
from core.features.library.document_files import DocumentFiles, digest_of
from core.features.library.ingests import IngestLimits, IngestTask, TaskKind
from core.features.library.plan_ingest import document_name, failed_task, file_task, is_system_file, too_large
from core.model import Document, Extractor, SkipReason, Unreadable
from core.ports import Extract
from core.reading.file_types import SITEMAP, ZIP, kind_of
from core.reading.sitemap import LISTS
from core.reading.zip_archive import Archive
from core.text.sanitize import pluralize

_BATCH_FILES = 20
_BATCH_BYTES = 20_000_000
_LARGEST_ZIP = 10
"""The size limit of a zip on disk, as a multiple of a document's."""
_PAGE_SECONDS = 60.0
_MOST_MEGABYTES = 50.0
"""The size limit of a document or a sitemap on the web."""
_DEEPEST = 3
"""The deepest level of nested sitemaps. The protocol has two."""
_MOST_SITEMAPS = 100


class Fetch(Protocol):
    """A client for untrusted addresses and files of any kind."""

    async def fetch_any_type(self, url: str, knobs: ReadKnobs) -> Document:
        """Fetch the body at an address.

        Raises:
            Unreadable: with the reason, when there is no body.
        """


async def fetch_task(
    task: IngestTask, files: DocumentFiles, web: Fetch, limits: IngestLimits
) -> tuple[IngestTask, bytes]:
    """Return the task with digest and media type, and its bytes.

    `task.body` has the bytes if they are not stored yet.

    Raises:
        Unreadable: when the bytes cannot be read, are too many, or of an unsupported type.
    """
    body = await asyncio.to_thread(files.get, task.digest) if task.digest else None
    if body is not None:
        return task, body
    name, declared = task.name, ""
    match task.kind:
        case TaskKind.PATH:
            body = await asyncio.to_thread(_read_file, task.location, limits)
        case TaskKind.ADDRESS:
            megabytes = max(0.1, min(limits.file / 1e6, _MOST_MEGABYTES))
            document = await _fetch(task.location, web, megabytes)
            body, declared = document.body, document.media_type
            task = replace(task, location=document.url, charset=document.charset or "")
            name = PurePosixPath(unquote(urlsplit(task.location).path)).name
        case _:
            raise Unreadable(SkipReason.BROKEN, "its file is no longer stored; add it again")
    if await asyncio.to_thread(files.size) + len(body) > limits.total:
        raise Unreadable(SkipReason.TOO_LARGE, "the library is full (OPENQUERY_LIBRARY_MB)")
    media_type = await asyncio.to_thread(kind_of, name, body, declared)
    return replace(task, digest=digest_of(body), media_type=media_type, body=body), body


async def _fetch(url: str, web: Fetch, megabytes: float) -> Document:
    return await web.fetch_any_type(url, ReadKnobs(page_timeout=_PAGE_SECONDS, max_megabytes=megabytes))


def _read_file(path: str, limits: IngestLimits) -> bytes:
    largest_zip = _LARGEST_ZIP * limits.file
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(file, "rb") as stream:
            body = stream.read(limits.file + 1)
            if len(body) > limits.file and body.startswith(b"PK"):
                body += stream.read(largest_zip + 1 - len(body))
    except OSError as error:
        raise Unreadable(SkipReason.BROKEN, f"cannot be read: {error.strerror}") from error
    if len(body) > largest_zip or (len(body) > limits.file and kind_of(path, body) != ZIP):
        raise Unreadable(SkipReason.TOO_LARGE, too_large(limits))
    return body


# --- zips -------------------------------------------------------------------------------------------------


async def tasks_from_zip(
    task: IngestTask, body: bytes, files: DocumentFiles, limits: IngestLimits
) -> AsyncIterator[list[IngestTask]]:
    """Yield batches of tasks for the documents in a zip, named `zip/file`.

    The names are only displayed, never used as paths.

    Raises:
        Unreadable: when the zip is damaged, or unpacks to more than the free space of the library.
    """
    free = max(0, limits.total - await asyncio.to_thread(files.size))
    members = _zip_tasks(task.name, body, limits, free)
    while batch := await asyncio.to_thread(_batch, members):
        yield batch


def _batch(members: Iterator[IngestTask]) -> list[IngestTask]:
    tasks: list[IngestTask] = []
    size = 0
    for task in members:
        tasks.append(task)
        size += len(task.body or b"")
        if len(tasks) >= _BATCH_FILES or size >= _BATCH_BYTES:
            break
    return tasks


def _zip_tasks(zip_name: str, body: bytes, limits: IngestLimits, free: int) -> Iterator[IngestTask]:
    archive = Archive(body, free)
    for member in archive.names:
        if is_system_file(member):
            continue
        name = document_name(f"{zip_name}/{member}")
        if _is_outside(member):
            yield failed_task(name, Unreadable(SkipReason.BROKEN, "its path leads out of the zip"))
            continue
        try:
            task = file_task(name, archive.read(member, limits.file), limits)
        except Unreadable as why:
            if archive.over_limit:
                raise
            task = failed_task(name, why)
        if task.media_type == ZIP:
            task = failed_task(name, Unreadable(SkipReason.UNSUPPORTED, "a zip inside a zip is not opened"))
        yield task


def _is_outside(name: str) -> bool:
    path = name.replace("\\", "/")
    return path.startswith("/") or ".." in PurePosixPath(path).parts or bool(re.match(r"[A-Za-z]:", path))


# --- sitemaps ---------------------------------------------------------------------------------------------


async def tasks_from_sitemap(
    task: IngestTask, web: Fetch, extract: Extract, limit: int
) -> tuple[list[IngestTask], str]:
    """Return tasks for the addresses in a sitemap, and a note on omissions.

    At most `limit` addresses are read, also from nested sitemaps. Only addresses on the sitemap's own host are used, as
    the protocol demands, so that a sitemap cannot direct requests at another site.

    Raises:
        Unreadable: when the sitemap cannot be fetched or parsed. A nested sitemap is only left out.
    """
    addresses: dict[str, None] = {}
    foreign = unreadable = fetched = 0
    queue = [(task.location, 1)]
    queued = {task.location}
    while queue and len(addresses) <= limit and fetched < _MOST_SITEMAPS:
        sitemap, depth = queue.pop(0)
        fetched += 1
        try:
            document = await _fetch(sitemap, web, _MOST_MEGABYTES)
            article = await extract(replace(document, media_type=SITEMAP, charset=None), Extractor.FAST)
        except Unreadable:
            if depth == 1:
                raise
            unreadable += 1
            continue
        for address in article.text.split("\n"):
            if _host(address) != _host(task.location):
                foreign += 1
            elif article.extractor != LISTS:
                addresses[address] = None
            elif address not in queued and depth < _DEEPEST:
                queued.add(address)
                queue.append((address, depth + 1))
    if not addresses:
        raise Unreadable(SkipReason.EMPTY, "the sitemap names no address on its own host")
    parts = (
        "addresses beyond the limit (OPENQUERY_INGEST_FILES)" if len(addresses) > limit else "",
        f"{pluralize(foreign, 'address')} on other hosts" if foreign else "",
        f"{pluralize(unreadable, 'sitemap')} that could not be read" if unreadable else "",
        pluralize(len(queue), "further sitemap") if queue else "",
    )
    left_out = ", ".join(filter(None, parts))
    tasks = [
        IngestTask(kind=TaskKind.ADDRESS, name=document_name(url), location=url)
        for url in list(addresses)[:limit]
    ]
    return tasks, f"left out: {left_out}" if left_out else ""


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""
