"""The sources of a run as a context that other programs can hand to a model."""

import re
from collections.abc import Sequence

from core.errors import ReadFailed, SearchFailed
from core.model import Source
from core.run.state import Run
from core.stages.read import NO_CONTENT
from core.stages.search import NO_RESULTS
from core.text.sanitize import one_line

UNTITLED = "Unknown"
"""Stands for the title of a source that has none."""


def source_context(run: Run) -> str:
    """The sources of a run, best first, or the sentence that says why there are none.

    Each source is `[Source n: title](address)` on a line of its own and its passage below, with an empty line
    between sources. Where no passage was relevant the text is empty; where the search or the reading of pages
    failed, it says so, and `run.error` says why.
    """
    failed = {SearchFailed.part: NO_RESULTS, ReadFailed.part: NO_CONTENT}
    return formatted_sources(run.sources) or (failed.get(run.error.part, "") if run.error else "")


def formatted_sources(sources: Sequence[Source]) -> str:
    """Sources as above. Brackets in titles are escaped, so that no title can end its link."""
    return "\n\n".join(
        f"[Source {source.number}: {_title(source)}]({source.url})\n{source.text}" for source in sources
    )


def _title(source: Source) -> str:
    return re.sub(r"([\[\]\\])", r"\\\1", one_line(source.title)) or UNTITLED
