"""The sections of a report, folded from their events, and the report as one text."""

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
"""The heading of the answer to the main question, which a report begins with."""


class SectionState(StrEnum):
    """How far a section is."""

    WAITING = "waiting"
    RESEARCHING = "researching"
    WRITTEN = "written"
    LEFT_OUT = "not researched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of a report: a sub-question with what is written about it. Times are in seconds since the run began."""

    question: str
    state: SectionState = SectionState.WAITING
    answer: Answer | None = None
    sources: tuple[Source, ...] = ()
    reason: str = ""
    """Why it was not researched."""
    tokens: int = 0
    start: float = 0.0
    end: float | None = None

    @property
    def markdown(self) -> str:
        """Its heading with its text, or with the reason why there is none. Headings in the text are below its own."""
        text = self.answer.text if self.answer else f"*Not researched: {self.reason}*"
        return heading(self.question) + _CODE_OR_HEADING.sub(lambda match: match[0] or "##", text)


def heading(title: str) -> str:
    """The heading of a section. A mark of a citation in it would be taken for one."""
    return f"## {without_citations(title)}\n\n"


def report(sections: Iterable[Section], brief: str = "") -> str:
    """The sections that are written or left out as one text in Markdown, after the answer in brief."""
    ended = (section.markdown for section in sections if section.answer or section.reason)
    return "\n\n".join([*([f"{heading(IN_BRIEF)}{brief}"] if brief else []), *ended])


def folded_sections(
    sections: tuple[Section, ...],
    event: SectionStarted | SectionWritten | SectionLeftOut,
    seconds: float,
) -> tuple[Section, ...]:
    """The sections after an event of one, at `seconds` of the run's clock."""
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
