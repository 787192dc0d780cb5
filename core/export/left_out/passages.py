"""What became of the passages whose texts were left out of a run's file."""

from collections.abc import Iterable
from dataclasses import dataclass

from core.model import PassageState
from core.run.state import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutPassage:
    """A passage whose text was left out, at `start` to `end` of its page."""

    title: str
    url: str
    start: int
    end: int
    state: PassageState
    moved_to: int | None
    problem: str
    """Why its page could not be read."""

    def __str__(self) -> str:
        moved = f" to {self.moved_to:,}" if self.moved_to is not None else ""
        problem = f": {self.problem}" if self.problem and self.state is PassageState.GONE else ""
        return f"{self.state}{moved} {self.url} {self.start:,} to {self.end:,}{problem}"


def left_out_passages(run: Run) -> Iterable[LeftOutPassage]:
    """The passages in the order of their pages, each with what is known of its text."""
    for page in run.pages.values():
        digests = page.article.digests
        for passage in digests.passages if digests else ():
            yield LeftOutPassage(
                title=page.title,
                url=page.url,
                start=passage.start,
                end=passage.end,
                state=passage.state,
                moved_to=passage.moved_to,
                problem=digests.problem if digests else "",
            )
