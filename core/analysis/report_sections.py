"""The sections of a report as values that pages draw: which section cites which source."""

from collections.abc import Mapping

from core.model import source_numbers
from core.run.state import Run
from core.stages.check import check


def citing_sections(run: Run) -> Mapping[int, tuple[int, ...]]:
    """The sections that cite a source, from 1, by its number; sources that a section cites alone, ascending."""
    sections: dict[int, tuple[int, ...]] = {}
    for number, section in enumerate(run.sections, 1):
        text = section.answer.text if section.answer else ""
        for source in check(text, source_numbers(section.sources)).cited:
            sections[source] = (*sections.get(source, ()), number)
    return dict(sorted(sections.items()))
