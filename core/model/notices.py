"""Notices for a person about how an answer was made."""

from dataclasses import dataclass
from enum import StrEnum

from core.model.hits import Phase

CAVEAT = "These sources may not answer this."
"""The beginning of the warning above a doubtful answer. The reason follows."""

QUOTED = "sentences of the sources are quoted"
"""The phrase, in either case, in each note on why sentences are quoted despite a connected chat model."""


class Severity(StrEnum):
    """The importance of a notice to readers of the answer."""

    INFO = "info"
    """How the answer was made, such as by quoting because no chat model is connected."""
    WARNING = "warning"
    """Something is missing from the answer, or may be wrong in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A fallback, loss or doubt. Its text is one line, and begins with "Warning:" if it is a warning."""

    phase: Phase
    severity: Severity
    message: str
    hint: str = ""
    """Advice about it."""

    @property
    def is_caveat(self) -> bool:
        """Whether it doubts the whole answer, above which it is shown."""
        return self.message.startswith(CAVEAT)

    def __str__(self) -> str:
        mark = "Warning: " if self.severity is Severity.WARNING else ""
        return f"{mark}{self.message} {self.hint}".rstrip()
