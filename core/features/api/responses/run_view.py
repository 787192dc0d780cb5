"""A run and a conversation as replies give them: in short with the tokens used, and whole."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from core.analysis.run_activity import can_quote, waiting_for
from core.analysis.run_usage import run_usage
from core.config.prices import Cost, Prices
from core.features.api.responses.answers import AnswerMetadata, Score, note_fields, source_metadata
from core.features.api.responses.scores import Scores
from core.features.api.strict_json import copied
from core.model import AnswerKind, Phase, Usage, readable
from core.run.reports.plan_events import PlanProposed
from core.run.reports.sections import SectionState
from core.run.state import Run, RunStatus

Parts = list[dict[str, Any]]


class RunSource(BaseModel):
    """A passage in the context of a run."""

    number: int
    text: str
    score: Score
    cited: bool
    snippet_only: bool = False
    """Whether only the search engine's snippet of the page is known: it counts as no page."""
    metadata: AnswerMetadata


class RunSkip(BaseModel):
    """A page that was not read."""

    url: str
    reason: str
    detail: str


class RunError(BaseModel):
    """Why a run failed, and what to do."""

    part: str
    message: str
    hint: str


class TokenCounts(BaseModel):
    """Tokens and their cost."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    """At least the sum of the two. Some providers count reasoning in the total only."""
    cost: float | None
    """The known US dollars, or null if none are known."""
    cost_estimated: bool
    """At least a part of the cost is by the price table, because a provider does not state it."""
    estimated: bool
    """A server gave no counts, or was stopped before it did: at least a part is estimated from the texts."""


class PhaseTokens(TokenCounts):
    """The tokens of one model in one phase of the run."""

    phase: Phase
    model: str
    calls: int
    local: bool
    """The model runs inside OpenQuery: its tokens are in no total and under no limit."""


class RunTokens(TokenCounts):
    """Tokens and cost of the whole run on model servers: queries, embeddings, reranking and every answer."""

    unpriced: list[str]
    """Models whose cost is unknown, and in no sum."""
    by_phase: list[PhaseTokens]


class RunPlan(BaseModel):
    """The plan of a run of the method deep, with an estimate for each sub-question."""

    sub_questions: list[str]
    tokens: int
    seconds: float
    dollars: float | None
    """None where the price of the model is unknown."""
    earlier_runs: int
    """The number of earlier runs behind the estimate. 0: it follows from the knobs."""


class RunSection(BaseModel):
    """A section of a report."""

    question: str
    state: SectionState
    reason: str
    """Why the section was not researched, or ""."""
    sources: list[int]
    """Their numbers, which are those of the whole report."""


class RunView(BaseModel):
    """A run in short. The whole of it is `GET /runs/{id}?form=full`."""

    id: str
    question: str
    """The question. A follow-up is rewritten to a standalone question."""
    written: str
    """The question as it was asked."""
    conversation: str
    """The id of the first run of its conversation, which is its own when it follows none."""
    status: RunStatus
    started: str
    seconds: float
    knobs: dict[str, Any]
    queries: list[str]
    backend: str
    hits: int
    pages: int
    passages: int
    skipped: list[RunSkip]
    notes: list[str]
    plan: RunPlan | None
    """The plan of a run of the method deep, or null."""
    sections: list[RunSection]
    """Empty before a plan is approved."""
    answer: str
    kind: AnswerKind | None
    model: str
    sources: list[RunSource]
    usage: RunTokens | None
    """The usage, or null without a model."""
    error: RunError | None
    waiting: str
    """The wait of a live run, such as for a chat model silent for 10 s or more, or ""."""
    can_quote: bool
    """Whether `POST /runs/{id}/quote` quotes the sources in place of an answer that the chat model writes, or has failed
    to write."""
    stored: bool
    """False: the run is in memory only, and `notes` say why. It is stored as soon as that works again."""


def run_tokens(run: Run, prices: Prices) -> RunTokens | None:
    """Return the tokens of the whole run, or None without a model."""
    usage = run_usage(run.model_usage, prices)
    if not usage.rows:
        return None
    return RunTokens(
        **_counts(usage.tokens or Usage(prompt_tokens=0), usage.cost),
        estimated=usage.estimated,
        unpriced=list(usage.unpriced),
        by_phase=[
            PhaseTokens(
                **_counts(row.usage.tokens, row.cost),
                estimated=row.usage.estimated,
                phase=row.phase,
                model=row.usage.model,
                calls=row.usage.calls,
                local=row.usage.local,
            )
            for row in usage.rows
        ],
    )


def _counts(tokens: Usage, cost: Cost | None) -> dict[str, Any]:
    return {
        **tokens.to_json(),
        "cost": cost.dollars if cost else None,
        "cost_estimated": bool(cost and cost.estimated),
    }


def _plan(plan: PlanProposed) -> RunPlan:
    return copied(
        RunPlan, plan.estimate, sub_questions=list(plan.sub_questions), earlier_runs=plan.estimate.runs
    )


def run_view(run: Run, prices: Prices, unsaved: str = "", now: float | None = None) -> RunView:
    """The run in short, with its cost by `prices` where a provider does not state it. `unsaved` says why it is not stored, where it is not.
    `now` is the time of the run's clock, or None for that of its latest event."""
    scores = Scores(run)
    return copied(
        RunView,
        run,
        knobs=run.knobs.to_json(),
        queries=[query.text for query in run.queries],
        hits=len(run.hits),
        pages=len(run.pages),
        passages=len(run.index.passages) if run.index else len(run.passages),
        skipped=[copied(RunSkip, skip) for skip in run.skips.values()],
        **note_fields(run, unsaved),
        plan=run.plan and _plan(run.plan),
        sections=[
            copied(RunSection, section, sources=[source.number for source in section.sources])
            for section in run.sections
        ],
        answer=run.text,
        kind=run.answer.kind if run.answer else None,
        model=run.answer.model if run.answer else "",
        sources=[
            copied(
                RunSource,
                source,
                text=readable(source.text),
                score=scores.of(source.passage).score,
                cited=source.number in run.check.cited,
                metadata=source_metadata(run, source),
            )
            for source in run.sources
        ],
        usage=run_tokens(run, prices),
        waiting=waiting_for(run, run.seconds if now is None else now),
        can_quote=can_quote(run),
        error=run.error and copied(RunError, run.error),
    )


class WholeRun(BaseModel):
    """A run in the format of the history's exports. Fields that are not named here are results of its stages."""

    model_config = ConfigDict(extra="allow")

    format: Literal["openquery-run"]
    version: int
    id: str
    question: str
    knobs: dict[str, Any]
    started: str
    status: RunStatus
    seconds: float
    queries: Parts
    replies: Parts
    search_faults: Parts
    hits: Parts
    pages: Parts
    skips: Parts
    index: dict[str, Any] | None
    """The passages, without their vectors."""
    ranking: dict[str, Any] | None
    sources: Parts
    text: str
    """The answer so far."""
    answer: dict[str, Any] | None
    notices: Parts
    error: dict[str, Any] | None


class ConversationTurn(BaseModel):
    """A question of a conversation, with its answer."""

    run: str
    asked: str
    written: str
    question: str
    answer_from: str | None
    coverage: float | None
    answer: str
    cited: list[int]
    sources: list[int]
    notes: list[str]


class ConversationSource(BaseModel):
    """A source of a conversation."""

    number: int
    title: str
    url: str
    text: str


class Conversation(BaseModel):
    """The questions and answers of a conversation, with one list of sources."""

    format: str
    conversation: str
    turns: list[ConversationTurn]
    sources: list[ConversationSource]
