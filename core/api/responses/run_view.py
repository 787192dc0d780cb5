"""A run as `POST /research` and `GET /runs/{id}` give it, with the tokens that it took."""

from typing import Any

from pydantic import BaseModel

from core.analysis.run_usage import is_usage_estimated
from core.api.responses.answers import AnswerMetadata, Score, note_fields, source_metadata
from core.api.responses.scores import Scores
from core.api.strict_json import plain
from core.model import AnswerKind, Phase, Usage
from core.run.state import Run, RunStatus


class RunSource(BaseModel):
    """A passage in the context of a run."""

    number: int
    text: str
    score: Score
    cited: bool
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
    """At least the sum of the two; more where a provider counts reasoning in the total only."""
    cost: float | None
    """US dollars; None where no provider states a cost."""
    estimated: bool
    """A server gave no counts, or was stopped before it did: at least a part is estimated from the texts."""


class PhaseTokens(TokenCounts):
    """The tokens of one model in one phase of the run."""

    phase: Phase
    model: str
    local: bool
    """The model runs inside OpenQuery: its tokens are in no total and under no limit."""


class RunTokens(TokenCounts):
    """Tokens and cost of the whole run on model servers: queries, embeddings, reranking and every answer."""

    by_phase: list[PhaseTokens]


class RunView(BaseModel):
    """A run in short. The whole of it is `GET /runs/{id}?form=full`."""

    id: str
    question: str
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
    answer: str
    kind: AnswerKind | None
    model: str
    sources: list[RunSource]
    usage: RunTokens | None
    """None where no model was used."""
    error: RunError | None
    stored: bool
    """False: the run is in memory only, and `notes` say why. It is stored as soon as that works again."""


def run_tokens(run: Run) -> RunTokens | None:
    """The tokens of the whole run; None where no model was used."""
    if not run.model_usage:
        return None
    total = run.usage or Usage(prompt_tokens=0)
    return RunTokens(
        **total.to_json(),
        cost=total.cost,
        estimated=is_usage_estimated(run),
        by_phase=[
            PhaseTokens(
                **model_usage.usage.tokens.to_json(),
                cost=model_usage.usage.tokens.cost,
                estimated=model_usage.usage.estimated,
                phase=model_usage.phase,
                model=model_usage.usage.model,
                local=model_usage.usage.local,
            )
            for model_usage in run.model_usage
        ],
    )


def run_view(run: Run, unsaved: str = "") -> RunView:
    """The run in short. `unsaved` says why it is not stored, where it is not."""
    scores = Scores(run)
    return RunView(
        id=run.id,
        question=run.question,
        status=run.status,
        started=run.started,
        seconds=run.seconds,
        knobs=plain(run.knobs),
        queries=[query.text for query in run.queries],
        backend=run.backend,
        hits=len(run.hits),
        pages=len(run.pages),
        passages=len(run.index.passages) if run.index else len(run.passages),
        skipped=[RunSkip(url=s.url, reason=s.reason, detail=s.detail) for s in run.skips.values()],
        **note_fields(run, unsaved),
        answer=run.text,
        kind=run.answer.kind if run.answer else None,
        model=run.answer.model if run.answer else "",
        sources=[
            RunSource(
                number=source.number,
                text=source.text,
                score=scores.of(source.passage).score,
                cited=source.number in run.check.cited,
                metadata=source_metadata(run, source),
            )
            for source in run.sources
        ],
        usage=run_tokens(run),
        error=run.error and RunError(part=run.error.part, message=run.error.message, hint=run.error.hint),
    )
