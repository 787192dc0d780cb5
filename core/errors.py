"""What can go wrong, as one tree. Every error says what happened and what a person can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from core.model import Answer


UNFORESEEN = "Something inside OpenQuery went wrong; its log has the details."
"""What a person is told of an error that is none of these, once it is logged in full."""


class OpenQueryError(Exception):
    """The root. `hint` is an action, `part` names the failing part, `exit_code` is the command line's."""

    part: ClassVar[str] = "openquery"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class TookTooLong(OpenQueryError):
    """What was asked for did not come in time, and was given up."""


class BadInput(OpenQueryError):
    """A question, knob or setting outside its bounds."""

    part = "input"
    exit_code = 2


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


class EmbedFailed(OpenQueryError):
    """An embedder did not return one usable vector for each text."""

    part = "embed"
    exit_code = 5


class RerankFailed(OpenQueryError):
    """A reranking model did not return one usable score for each text."""

    part = "rank"
    exit_code = 5


class ChatFailed(OpenQueryError):
    """A chat model did not answer, refused, or stopped half-way; `partial` is then what came of the answer."""

    part = "answer"
    exit_code = 6

    def __init__(self, message: str, *, hint: str = "", partial: Answer | None = None) -> None:
        super().__init__(message, hint=hint)
        self.partial = partial


class StoreFailed(OpenQueryError):
    """The data folder cannot be read or written."""

    part = "store"
    exit_code = 7


class LimitReached(OpenQueryError):
    """A person has had as much as the operator allows; `seconds` until there is more."""

    part = "limit"
    exit_code = 8

    def __init__(self, message: str, *, hint: str = "", seconds: float = 0.0) -> None:
        super().__init__(message, hint=hint)
        self.seconds = seconds
