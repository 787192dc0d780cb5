"""The root of all exceptions that OpenQuery raises, and those that a person may see.

Exceptions of one module alone are defined there, below the same root.
"""

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import ClassVar

INTERNAL_ERROR = "Something inside OpenQuery went wrong."
INTERNAL_ERROR_HINT = "The server's log has the details."
"""Message and hint for an exception outside this tree, which is a defect. It is logged in full, and not shown."""


class OpenQueryError(Exception):
    """Any failure. `message` says what happened, `hint` what to do about it, `part` where; `exit_code` is the command line's."""

    part: ClassVar[str] = "openquery"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def _render_traceback_(self) -> list[str]:
        """Return the lines that a notebook shows instead of a traceback."""
        return [*filter(None, (f"{type(self).__name__}: {self.message}", self.hint))]


class TookTooLong(OpenQueryError):
    """An operation exceeded its time limit and was cancelled."""


class BadInput(OpenQueryError):
    """A question, knob or setting outside its bounds."""

    part = "input"
    exit_code = 2


class NotConnected(OpenQueryError):
    """A method needs a server that is not connected."""

    part = "connection"
    exit_code = 2


class NotAllowed(OpenQueryError):
    """An action that `core.config.permissions` forbids to the caller."""

    part = "permission"


class SearchFailed(OpenQueryError):
    """A search backend did not answer, refused, or found nothing at all."""

    part = "search"
    exit_code = 3


class ReadFailed(OpenQueryError):
    """Not one page could be read."""

    part = "read"
    exit_code = 4


class LibraryFailed(OpenQueryError):
    """A collection cannot be opened, searched or changed."""

    part = "library"
    exit_code = 9


class CollectionMissing(LibraryFailed):
    """A collection that is named does not exist."""


class EmbedFailed(OpenQueryError):
    """An embedder did not return one usable vector for each text."""

    part = "embed"
    exit_code = 5


class RerankFailed(OpenQueryError):
    """A reranking model did not return one usable score for each text."""

    part = "rank"
    exit_code = 5


class ChatFailed(OpenQueryError):
    """A chat model did not answer, refused, or broke off."""

    part = "answer"
    exit_code = 6


class ToolsRefused(ChatFailed):
    """A chat model, or its server, takes no tools."""


class StoreFailed(OpenQueryError):
    """The data folder cannot be read or written."""

    part = "store"
    exit_code = 7


def disk_failure(error: OSError) -> StoreFailed:
    """Return the error for a failed operation on files, such as writing to a full disk."""
    where = f"{error.filename}: " if error.filename else ""
    return StoreFailed(
        f"A file cannot be read or written: {where}{error.strerror or error}.",
        hint="Check the space and the rights of its folder, then start again.",
    )


class LimitReached(OpenQueryError):
    """A quota or rate limit is used up; `seconds` until the next request is allowed."""

    part = "limit"
    exit_code = 8

    def __init__(self, message: str, *, hint: str = "", seconds: float = 0.0) -> None:
        super().__init__(message, hint=hint)
        self.seconds = seconds


class WorkersFailed(OpenQueryError):
    """The workers of a sweep cannot be reached, or ended before their work was done."""

    part = "workers"
    exit_code = 10


class ErrorHandler(ContextDecorator):
    """Context manager or decorator that passes errors of the core or of files to `handle`.

    The error ends the block or function, which returns nothing. An error of files is passed as its `disk_failure`.
    """

    def __init__(self, handle: Callable[[OpenQueryError], object]) -> None:
        self._handle = handle

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """End the block. Other errors pass."""
        if isinstance(error, OSError):
            error = disk_failure(error)
        if isinstance(error, OpenQueryError):
            self._handle(error)
            return True
        return False
