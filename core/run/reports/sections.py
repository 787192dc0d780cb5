"""The sections of a report, and the report as one text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from core.model import Answer, Source
from core.run.reports.plan_events import SectionLeftOut, SectionStarted, SectionWritten
from core.text.markdown.citations import without_citations

_CODE_OR_HEADING = re.compile(r"^(```|~~~).*?(?:^\1|\Z)|^(?=#{1,4} )", re.MULTILINE | re.DOTALL)

IN_BRIEF = "In brief"
"""The heading of the brief answer, which begins a report."""


class SectionState(StrEnum):
    """The progress of a section."""

    WAITING = "waiting"
    RESEARCHING = "researching"
    WRITTEN = "written"
    LEFT_OUT = "not researched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A report section: a sub-question with its answer. Times are in seconds since the run began."""

    question: str
    state: SectionState = SectionState.WAITING
    answer: Answer | None = None
    sources: tuple[Source, ...] = ()
    reason: str = ""
    """The reason why it was not researched."""
    tokens: int = 0
    start: float = 0.0
    end: float | None = None

    @property
    def markdown(self) -> str:
        """The heading with the text or reason. Headings in the text are lowered a level."""
        text = self.answer.text if self.answer else f"*Not researched: {self.reason}*"
        return heading(self.question) + _CODE_OR_HEADING.sub(lambda match: match[0] or "##", text)


def heading(title: str) -> str:
    """Return the heading of a section without citation marks. They would be parsed as citations."""
    return f"## {without_citations(title)}\n\n"


def report(sections: Iterable[Section], brief: str = "") -> str:
    """Return the ended sections as Markdown, after the brief answer."""
    ended = (section.markdown for section in sections if section.answer or section.reason)
    return "\n\n".join([*([f"{heading(IN_BRIEF)}{brief}"] if brief else []), *ended])


def folded_sections(
    sections: tuple[Section, ...],
    event: SectionStarted | SectionWritten | SectionLeftOut,
    seconds: float,
) -> tuple[Section, ...]:
    """Return the sections after a section event. `seconds` is its time in the run."""
    section = sections[event.number - 1]
    match event:
        case SectionStarted():
            section = Section(question=section.question, state=SectionState.RESEARCHING, start=seconds)
        case SectionWritten(answer=answer, sources=sources, tokens=tokens):
            section = replace(section, state=SectionState.WRITTEN, answer=answer, sources=sources)
            section = replace(section, tokens=tokens, end=seconds)
        case SectionLeftOut(reason=reason):
            section = replace(section, state=SectionState.LEFT_OUT, reason=reason, end=seconds)
    return (*sections[: event.number - 1], section, *sections[event.number :])
