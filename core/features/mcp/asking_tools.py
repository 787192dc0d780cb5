"""Tools that answer: ask, follow_up."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.config.egress import searched_origins
from core.config.knob_changes import with_values
from core.config.run_knobs import Method
from core.features.api.responses.answers import ResultRange, answer_of, note_fields, nothing_found
from core.features.api.responses.run_view import RunTokens, run_tokens
from core.features.api.responses.scores import Scores
from core.features.api.run_following import RunStep, refusal_of
from core.features.api.sessions import Endpoint
from core.features.api.strict_json import Question, Strict
from core.features.mcp.calls import Call, Result, tool
from core.features.mcp.documents import RunId, document_id, shown
from core.run.state import Run, RunStatus

Settings = Annotated[
    dict[str, Any],
    Field(
        default_factory=dict,
        max_length=100,
        description="Settings of this question by path, such as rank.top_k, rank.strategy (cosine, bm25 or fused) or "
        "chunk.size. GET /config lists all with their bounds.",
    ),
]


class AskArguments(ResultRange):
    """The arguments of ask."""

    question: Question
    """A question in the words of a person."""
    method: Literal["pipeline", "agent"] | None = None
    """pipeline plans, searches, reads and answers once; agent lets the chat model decide step by step."""
    settings: Settings


class AnswerSource(BaseModel):
    """A passage that the answer was written from."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    number: int
    """The number of its marks in the answer: [3] cites number 3."""
    document: str
    """The id of its page, for the tool fetch."""
    title: str
    url: str
    text: str
    score: float
    """The calibrated similarity to the question, from 0 to 1."""
    cited: bool


class AnswerResult(Result):
    """An answer with its sources."""

    run: str
    """The id of the run, for the other tools."""
    question: str
    """The answered question. A follow-up is rewritten as a standalone question."""
    answer: str
    complete: bool
    """Whether nothing broke off."""
    sources: list[AnswerSource]
    queries: list[str]
    hits: int
    pages: int
    """Pages that were read."""
    skipped: int
    """The number of unread pages. The tool why_not gives the reasons."""
    passages: int
    seconds: float
    usage: RunTokens | None
    """Tokens and cost; null if no model server was asked."""
    notes: list[str]
    stored: bool
    status: RunStatus
    link: str
    """The page that shows the answer with every step."""


@tool("Ask a question", reaches_out=True)
async def ask(call: Call, arguments: AskArguments) -> AnswerResult:
    """Answer a question from the web or from collections, with numbered sources and figures. Takes from seconds to
    minutes, and reports its progress. Its run can be explained, tuned and continued.
    """
    knobs = with_values(call.follower.session.knobs_for(Endpoint.RESEARCH), arguments.settings)
    top_k = knobs.rank.top_k
    knobs = arguments.restrict(knobs, top_k)
    if arguments.method:
        knobs = replace(knobs, run=replace(knobs.run, method=Method(arguments.method)))
    call.require_origins(searched_origins(knobs.search))
    steps = call.follower.steps(
        arguments.question, knobs, queries=arguments.queries, answer_from=arguments.answer_from
    )
    return await _answered(call, steps)


class FollowUpArguments(Strict):
    """The arguments of follow_up."""

    run: RunId
    """The id of the run that the question follows."""
    question: Question
    """The next question, which may refer to the one before."""
    settings: Settings


@tool("Ask a follow-up", reaches_out=True)
async def follow_up(call: Call, arguments: FollowUpArguments) -> AnswerResult:
    """Ask the next question of a run. It is rewritten to stand alone, and answered from the pages of the run if they
    cover it, else from a new search too.
    """
    earlier = await call.run(arguments.run)
    knobs = with_values(earlier.knobs, arguments.settings)
    return await _answered(call, call.follower.follow_up(arguments.run, arguments.question, knobs))


async def _answered(call: Call, steps: AsyncGenerator[RunStep]) -> AnswerResult:
    run = await call.finished(steps)
    if refusal := refusal_of(run, call.follower.alternatives(run)):
        raise refusal
    unsaved = await call.service.unsaved(run.id)
    return await asyncio.to_thread(answer_result, call, run, unsaved)


def answer_result(call: Call, run: Run, unsaved: str) -> AnswerResult:
    """Return a run as an answer. `unsaved` says why it is not stored, or is empty."""
    scores = Scores(run)
    broke_off = [str(run.error)] if run.error and not nothing_found(run) else []
    beside = note_fields(run, unsaved)
    return AnswerResult(
        run=run.id,
        question=run.question,
        answer=answer_of(run),
        complete=run.answer.complete if run.answer else nothing_found(run),
        sources=[
            AnswerSource(
                number=source.number,
                document=document_id(run.id, source.passage.place.page),
                title=source.title,
                url=source.url,
                text=shown(source.text),
                score=scores.of(source.passage).similarity,
                cited=source.number in run.check.cited,
            )
            for source in run.sources
        ],
        queries=[query.text for query in run.queries],
        hits=len(run.hits),
        pages=run.full_pages,
        skipped=len(run.skips),
        passages=len(run.index.passages) if run.index else len(run.passages),
        seconds=run.seconds,
        usage=run_tokens(run, call.service.prices),
        notes=[*broke_off, *beside["notes"]],
        stored=beside["stored"],
        status=run.status,
        link=call.link("", run=run.id),
    )


TOOLS = (
    ask,
    follow_up,
)
