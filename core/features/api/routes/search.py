"""A search without an answer: `POST /search`, in the form that chat programs ask search engines in."""

import asyncio
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from core.analysis.rankings.ranked_passages import passages_by_page
from core.features.api.run_following import FollowerOf, refusal_of
from core.features.api.sessions import Endpoint
from core.features.api.strict_json import Query, Strict, StrictRoute
from core.model import readable
from core.run.state import Run
from core.serving.problems import documented
from core.text.sanitize import one_line, sanitize, truncate

router = APIRouter(route_class=StrictRoute, tags=["questions"])

MOST_PAGES = 20
"""The most pages of a reply."""
SNIPPET_PASSAGES = 3
"""The most passages of a page in its snippet."""
SNIPPET = 2_000
"""The most characters of a snippet."""


class SearchRequest(Strict):
    """The body of `POST /search`. Other fields are ignored: chat programs add their own."""

    model_config = ConfigDict(extra="ignore")

    query: Query
    count: Annotated[int, Field(ge=1)] = 5
    """How many pages at most. There are never more than 20."""


class FoundPage(BaseModel):
    """A page that was found and read."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    link: str
    title: str
    snippet: str
    """Its best passages for the query, in the order of the ranking."""


@router.post("/search", responses=documented(409, 413, 422, 429, 502, 503))
async def search_pages(body: SearchRequest, follower: FollowerOf) -> list[FoundPage]:
    """Search, read the pages, and return them by their best passages. No answer is written."""
    knobs = follower.session.knobs_for(Endpoint.RESEARCH)
    steps = follower.started(body.query, knobs, queries=(body.query,), answered=False)
    run = await follower.ended(steps)
    if refusal := refusal_of(run, follower.alternatives(run)):
        raise refusal
    return await asyncio.to_thread(_found_pages, run, body.count)


def _found_pages(run: Run, count: int) -> list[FoundPage]:
    return [
        FoundPage(
            link=rows[0].url,
            title=one_line(rows[0].title or rows[0].url),
            snippet=truncate(
                sanitize("\n\n".join(readable(row.text) for row in rows[:SNIPPET_PASSAGES])), SNIPPET
            ),
        )
        for rows in passages_by_page(run)[: min(count, MOST_PAGES)]
    ]
