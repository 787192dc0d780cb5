"""Turn a person's sources into tasks, and check the limits before anything is stored."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from core.errors import BadInput
from core.features.library.document_files import PAGE, digest_of, page_to_json
from core.features.library.ingests import (
    Address,
    Folder,
    IngestLimits,
    IngestSource,
    IngestTask,
    RunPages,
    Sitemap,
    TaskKind,
    TaskState,
    Upload,
)
from core.model import SkipReason, Unreadable
from core.reading.file_types import ZIP, kind_of
from core.reading.zip_archive import Archive
from core.text.sanitize import one_line, pluralize

NAME_LIMIT = 300
"""The most characters of a document's name."""
_PAGES = frozenset({".html", ".htm", ".xhtml"})
_HEAD = 16_000
"""Bytes of a web page in which it may ask not to be indexed."""
_UNINDEXED = re.compile(rb"""<meta\b(?=[^<>]*\bname\s*=\s*["']?robots\b)[^<>]*\bnoindex\b""", re.IGNORECASE)
_COMPANIONS = re.compile(r"(?i)\.(?:avif|bmp|css|eot|gif|ico|jpe?g|m?js|map|otf|png|svg|ttf|webp|woff2?)$")
"""Endings of files that pages and documents refer to: fonts, pictures, scripts and style sheets."""
_SYSTEM_FILE = re.compile(r"(?:^|/)(?:__MACOSX/|\.(?!\.?/)|Thumbs\.db$|desktop\.ini$)")


def plan_ingest(sources: Sequence[IngestSource], limits: IngestLimits, used: int) -> list[IngestTask]:
    """Return the tasks of an ingest, with bytes. Blocks.

    A document that is too large is a failed task. `used` is the number of bytes in the library.

    Raises:
        BadInput: when there is nothing to add, the limits are exceeded, or a folder is not allowed by the operator.
    """
    tasks: list[IngestTask] = []
    count = size = 0
    for source in sources:
        for task in _tasks(source, limits):
            tasks.append(task)
            count += _count_members(task.body) if task.body and task.media_type == ZIP else 1
            size += len(task.body or b"")
            if count > limits.files:
                raise BadInput(
                    f"That is more than {pluralize(limits.files, 'document')} at once.",
                    hint="Add them in parts, or ask the operator to raise OPENQUERY_INGEST_FILES.",
                )
            if used + size > limits.total:
                raise BadInput(
                    f"The library would then be larger than {_megabytes(limits.total)}.",
                    hint="Delete documents, or ask the operator to raise OPENQUERY_LIBRARY_MB.",
                )
    if not tasks:
        raise BadInput("There is nothing to add.", hint="Choose files, a folder, addresses or a run.")
    return tasks


def is_system_file(name: str) -> bool:
    """Return whether a zip's member is a hidden file or metadata of an operating system.

    Such members are left out.
    """
    return bool(_SYSTEM_FILE.search(name))


def _count_members(body: bytes) -> int:
    """Return the number of documents that a zip lists. Raises `Unreadable` for a damaged zip."""
    return sum(not is_system_file(name) for name in Archive(body, 0).names)


def too_large(limits: IngestLimits) -> str:
    """Return the reason for refusing a large document."""
    return f"larger than {_megabytes(limits.file)} (OPENQUERY_FILE_MB)"


def document_name(text: str) -> str:
    """Return a document's name: `text` on one line, cut at its start to `NAME_LIMIT` characters."""
    line = one_line(text, 10 * NAME_LIMIT)
    return line if len(line) <= NAME_LIMIT else f"…{line[1 - NAME_LIMIT :]}"


def _tasks(source: IngestSource, limits: IngestLimits) -> Iterator[IngestTask]:
    match source:
        case Upload(name=name, body=body):
            base = Path(name.replace("\\", "/")).name
            yield file_task(document_name(base) or "unnamed", body, limits)
        case Folder(path=path):
            files = list(_files_below(path, limits))
            unindexed = _unindexed([file for _, file in files if isinstance(file, Path)])
            for name, file in files:
                if isinstance(file, Unreadable):
                    yield failed_task(name, file)
                elif file in unindexed:
                    reason = "the page asks not to be indexed, like a printable copy or an old address"
                    yield IngestTask(kind=TaskKind.FILE, name=name, state=TaskState.SKIPPED, reason=reason)
                else:
                    yield IngestTask(kind=TaskKind.PATH, name=name, location=str(file))
        case Address(url=url):
            yield IngestTask(kind=TaskKind.ADDRESS, name=document_name(url), location=_web_address(url))
        case Sitemap(url=url):
            yield IngestTask(kind=TaskKind.SITEMAP, name=document_name(url), location=_web_address(url))
        case RunPages(run=run):
            for page in run.ranked_pages:
                if not page.snippet_only:
                    yield stored_task(document_name(page.url), PAGE, page_to_json(page))


def file_task(name: str, body: bytes, limits: IngestLimits) -> IngestTask:
    """Return the task of an uploaded document.

    The task has failed if the document is too large or of an unsupported type.
    """
    try:
        media_type = kind_of(name, body)
    except Unreadable as why:
        return failed_task(name, why)
    if media_type != ZIP and len(body) > limits.file:
        return failed_task(name, Unreadable(SkipReason.TOO_LARGE, too_large(limits)))
    return stored_task(name, media_type, body)


def stored_task(name: str, media_type: str, body: bytes) -> IngestTask:
    """Return a task with bytes to store."""
    return IngestTask(kind=TaskKind.FILE, name=name, digest=digest_of(body), media_type=media_type, body=body)


def failed_task(name: str, why: Unreadable) -> IngestTask:
    """Return a task that ended before its bytes were stored."""
    return IngestTask(kind=TaskKind.FILE, name=name, state=state_of_unreadable(name), reason=str(why))


def state_of_unreadable(name: str) -> TaskState:
    """Return whether an unreadable file has failed, or is skipped.

    A font, picture, script or style sheet of a folder or zip is skipped, because nobody named it as a document.
    """
    is_companion = "/" in name and _COMPANIONS.search(name)
    return TaskState.SKIPPED if is_companion else TaskState.FAILED


def _files_below(path: Path, limits: IngestLimits) -> Iterator[tuple[str, Path | Unreadable]]:
    """Yield the files below a folder with their names, or an error for each unreadable file.

    Hidden files and links are left out.

    Raises:
        BadInput: when the folder does not exist, or the operator does not allow it.
    """
    try:
        root = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise BadInput(f"{path} does not exist.", hint="Check the path on the server's disk.") from error
    allowed = [folder.expanduser().resolve() for folder in limits.folders]
    if not any(root.is_relative_to(folder) for folder in allowed):
        raise BadInput(
            f"Documents may not be added from {path}.",
            hint="The operator names the folders that may be read in OPENQUERY_DOCUMENT_FOLDERS.",
        )
    failures: list[OSError] = []
    for file in (root,) if root.is_file() else _walk(root, failures):
        if readable := _readable(file):
            yield document_name(str(file.relative_to(root.parent))), readable
    for failure in failures:
        yield document_name(str(Path(failure.filename).relative_to(root.parent))), _not_readable(failure)


def _unindexed(files: Sequence[Path]) -> frozenset[Path]:
    """Return the web pages that ask not to be indexed. There are none if most pages of the folder ask so."""
    pages = [file for file in files if file.suffix.lower() in _PAGES]
    asking = frozenset(page for page in pages if _UNINDEXED.search(_head(page)))
    return asking if 2 * len(asking) < len(pages) else frozenset()


def _head(file: Path) -> bytes:
    """Return the first bytes of a file, or b"" if it is unreadable."""
    with suppress(OSError), file.open("rb") as opened:
        return opened.read(_HEAD)
    return b""


def _walk(root: Path, failures: list[OSError]) -> Iterator[Path]:
    """Yield the files below a folder that are not hidden.

    `failures` receives the errors of folders that cannot be listed.
    """
    for folder, folders, files in os.walk(root, onerror=failures.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))


def _readable(file: Path) -> Path | Unreadable | None:
    """Return the file, the reason against it, or None for links, pipes and special files."""
    try:
        str(file).encode()
        return file if stat.S_ISREG(file.lstat().st_mode) else None
    except UnicodeEncodeError:
        return Unreadable(SkipReason.BROKEN, "its name is not UTF-8")
    except OSError as error:
        return _not_readable(error)


def _not_readable(error: OSError) -> Unreadable:
    return Unreadable(SkipReason.BROKEN, f"cannot be read: {error.strerror}")


def _web_address(url: str) -> str:
    url = url.strip()
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        scheme = ""
    if scheme not in ("http", "https"):
        raise BadInput(
            f"“{url[:100]}” is no web address.", hint="Addresses begin with https:// and stand one on a line."
        )
    return url


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
