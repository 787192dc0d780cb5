"""What a person should know of how an answer was made."""

from dataclasses import dataclass
from enum import StrEnum

from core.model.hits import Phase

CAVEAT = "These sources may not answer this."
"""How a warning begins under which a doubtful answer stands; the reason follows."""

QUOTED = "sentences of the sources are quoted"
"""In each note, in either case, that says why sentences are quoted although a chat model is connected."""


class Severity(StrEnum):
    """How much a notice matters to whoever reads the answer."""

    INFO = "info"
    """How the answer was made, such as by quoting because no chat model is connected."""
    WARNING = "warning"
    """Something is missing from the answer, or may be wrong in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A fallback, a loss or a doubt. As text it is one line, which begins with "Warning:" where it is one."""

    phase: Phase
    severity: Severity
    message: str
    hint: str = ""
    """What to do about it."""

    @property
    def is_caveat(self) -> bool:
        """Whether it stands above the answer, as a doubt of the whole of it."""
        return self.message.startswith(CAVEAT)

    def __str__(self) -> str:
        mark = "Warning: " if self.severity is Severity.WARNING else ""
        return f"{mark}{self.message} {self.hint}".rstrip()
