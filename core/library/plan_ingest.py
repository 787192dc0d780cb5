"""What a person adds becomes tasks: counted, measured and refused before anything is written down."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from core.config.settings import Settings
from core.errors import BadInput
from core.library.archives import counted
from core.library.document_files import digest_of
from core.library.ingest_records import Taken, Task, TaskKind
from core.library.ingest_reports import TaskState
from core.library.ingest_sources import Address, Folder, IngestSource, RunPages, Sitemap, Upload
from core.library.run_page_documents import PAGE, page_body
from core.model import SkipReason, Unreadable
from core.reading.file_types import ZIP, kind_of
from core.text.sanitize import one_line

NAME_LIMIT = 300
"""Characters of a document's name that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestLimits:
    """How much may be added. Sizes are bytes."""

    file: int = 50_000_000
    """Of one document."""
    files: int = 2_000
    """Documents in one ingest."""
    total: int = 10_000_000_000
    """All kept files together."""
    folders: tuple[Path, ...] = ()
    """Folders on the server's disk that may be added from."""

    @classmethod
    def from_settings(cls, settings: Settings, folders: Sequence[Path] = ()) -> IngestLimits:
        """As the operator set them, with further folders."""
        return cls(
            file=int(settings.file_megabytes * 1e6),
            files=settings.ingest_files,
            total=settings.library_megabytes * 1_000_000,
            folders=(
                *(Path(name.strip()) for name in settings.document_folders.split(",") if name.strip()),
                *folders,
            ),
        )


def plan_ingest(items: Sequence[IngestSource], bounds: IngestLimits, used: int) -> list[Taken]:
    """The tasks of an ingest. A document that is too large becomes one that has failed; `used` counts the
    bytes that are kept already. Blocks.

    Raises:
        BadInput: when there is nothing, or more than one ingest or the library may hold, or a folder that
            the operator did not name.
    """
    tasks: list[Taken] = []
    count = size = 0
    for item in items:
        for task, body, documents in _tasks(item, bounds):
            tasks.append((task, body))
            count += documents
            size += len(body or b"")
            if count > bounds.files:
                raise BadInput(
                    f"That is more than {bounds.files:,} documents at once.",
                    hint="Add them in parts, or ask the operator to raise OPENQUERY_INGEST_FILES.",
                )
            if used + size > bounds.total:
                raise BadInput(
                    f"With that the library would keep more than {_megabytes(bounds.total)}.",
                    hint="Delete documents, or ask the operator to raise OPENQUERY_LIBRARY_MB.",
                )
    if not tasks:
        raise BadInput("There is nothing to add.", hint="Choose files, a folder, addresses or a run.")
    return tasks


def too_large(bounds: IngestLimits) -> str:
    """Why a document was refused."""
    return f"larger than {_megabytes(bounds.file)} (OPENQUERY_FILE_MB)"


def name_of(text: str) -> str:
    """A document's name as it is kept: one line, not too long, its end rather than its beginning."""
    line = one_line(text, 10 * NAME_LIMIT)
    return line if len(line) <= NAME_LIMIT else f"…{line[1 - NAME_LIMIT :]}"


def _tasks(item: IngestSource, bounds: IngestLimits) -> Iterator[tuple[Task, bytes | None, int]]:
    """Tasks with the bytes to keep and the number of documents that each stands for."""
    match item:
        case Upload(name=name, body=body):
            yield _upload(name, body, bounds)
        case Folder(path=path):
            for name, file in _files_below(path, bounds):
                if isinstance(file, Unreadable):
                    yield failed_task(name, file), None, 1
                else:
                    yield Task(kind=TaskKind.PATH, name=name, place=str(file)), None, 1
        case Address(url=url):
            yield Task(kind=TaskKind.ADDRESS, name=name_of(url), place=_web_address(url)), None, 1
        case Sitemap(url=url):
            yield Task(kind=TaskKind.SITEMAP, name=name_of(url), place=_web_address(url)), None, 1
        case RunPages(run=run, keys=keys):
            for page in run.ranked_pages:
                if not page.snippet_only and (not keys or page.key in keys):
                    body = page_body(page)
                    task = Task(
                        kind=TaskKind.FILE, name=name_of(page.url), digest=digest_of(body), media_type=PAGE
                    )
                    yield task, body, 1


def file_task(name: str, body: bytes, bounds: IngestLimits) -> Taken:
    """The task of a document whose bytes are here, failed already where it is too large or unreadable."""
    try:
        media_type = kind_of(name, body)
    except Unreadable as why:
        return failed_task(name, why), None
    if media_type != ZIP and len(body) > bounds.file:
        return failed_task(name, Unreadable(SkipReason.TOO_LARGE, too_large(bounds))), None
    return Task(kind=TaskKind.FILE, name=name, digest=digest_of(body), media_type=media_type), body


def failed_task(name: str, why: Unreadable) -> Task:
    return Task(kind=TaskKind.FILE, name=name, state=TaskState.FAILED, reason=str(why))


def _upload(name: str, body: bytes, bounds: IngestLimits) -> tuple[Task, bytes | None, int]:
    task, kept = file_task(name_of(Path(name.replace("\\", "/")).name) or "unnamed", body, bounds)
    return task, kept, counted(body) if task.media_type == ZIP else 1


def _files_below(path: Path, bounds: IngestLimits) -> Iterator[tuple[str, Path | Unreadable]]:
    """The files below a folder by name, hidden ones and links aside, and what there cannot be read; only
    below a folder that is allowed."""
    try:
        place = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise BadInput(f"{path} is not there.", hint="Check the path on the server's disk.") from error
    allowed = [folder.expanduser().resolve() for folder in bounds.folders]
    if not any(place.is_relative_to(folder) for folder in allowed):
        raise BadInput(
            f"Documents may not be added from {path}.",
            hint="The operator names the folders that may be read in OPENQUERY_DOCUMENT_FOLDERS.",
        )
    unread: list[OSError] = []
    for file in (place,) if place.is_file() else _walked(place, unread):
        if found := _readable(file):
            yield name_of(str(file.relative_to(place.parent))), found
    for why in unread:
        yield name_of(str(Path(why.filename).relative_to(place.parent))), _unread(why)


def _walked(place: Path, unread: list[OSError]) -> Iterator[Path]:
    """What stands below a folder and is not hidden; `unread` gets the folders that cannot be looked into."""
    for folder, folders, files in os.walk(place, onerror=unread.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(files) if not name.startswith("."))


def _readable(file: Path) -> Path | Unreadable | None:
    """The file, or why it cannot be added; None for links, pipes and whatever else is no file."""
    try:
        str(file).encode()
        return file if stat.S_ISREG(file.lstat().st_mode) else None
    except UnicodeEncodeError:
        return Unreadable(SkipReason.BROKEN, "its name is not UTF-8")
    except OSError as error:
        return _unread(error)


def _unread(error: OSError) -> Unreadable:
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
