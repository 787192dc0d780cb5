"""What became of the passages whose texts were left out of a run's file."""

from collections.abc import Iterator

from core.model import Page, PassageDigest, PassageState
from core.run.state import Run


def left_out_passages(run: Run) -> Iterator[tuple[Page, PassageDigest]]:
    """The passages in the order of their pages, each with its page."""
    for page in run.pages.values():
        yield from (
            (page, passage) for passage in (page.article.digests.passages if page.article.digests else ())
        )


def why_gone(page: Page, passage: PassageDigest) -> str:
    """Why the page of a passage that is gone could not be read; empty for any other."""
    return page.article.digests.problem if page.article.digests and passage.state is PassageState.GONE else ""
