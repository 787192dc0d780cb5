"""Pages and passages of a run as results of tools, and the ids of pages."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from core.analysis.rankings.ranked_passages import RankedPassage
from core.errors import BadInput
from core.model import Page, readable
from core.run.state import Run
from core.text.digest import text_digest
from core.text.sanitize import sanitize, truncate

PASSAGE = 1_000
"""The most characters of a passage in a result."""

RunId = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        pattern=r"^[A-Za-z0-9_-]+$",
        description="The id of a run, as ask, search, follow_up and runs give it.",
    ),
]


class Passage(BaseModel):
    """A ranked passage. Scores are raw, or null if they were not computed."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    rank: int
    number: int | None
    """Its number in the context, from which the answer cites it. Null: it is not in the context."""
    document: str
    """The id of its page, for the tool fetch."""
    title: str
    url: str
    text: str
    cosine: float | None
    bm25: float | None
    fused: float | None
    rerank: float | None


def passage(run_id: str, row: RankedPassage) -> Passage:
    """Return a ranked passage as tools give it."""
    return Passage(
        rank=row.rank,
        number=row.number,
        document=document_id(run_id, row.key),
        title=row.title,
        url=row.url,
        text=shown(row.text),
        cosine=row.cosine,
        bm25=row.bm25,
        fused=row.fused,
        rerank=row.rerank,
    )


def shown(text: str, limit: int = PASSAGE) -> str:
    """Return a text of a page without invisible characters, cut to `limit` characters."""
    return truncate(sanitize(readable(text)), limit)


def document_id(run_id: str, key: str) -> str:
    """Return the id of a page of a run."""
    return f"{run_id}.{text_digest(key)}"


def page_of(run: Run, document: str) -> Page:
    """Return the page of a run with this id.

    Raises:
        BadInput: when there is none.
    """
    for key, page in run.pages.items():
        if document_id(run.id, key) == document:
            return page
    raise BadInput("There is no document of this id.", hint="Take an id from the results of search or ask.")
