"""A run as agent messages: one for each step that a model took."""

from pydantic import BaseModel
from typing_extensions import TypedDict

from core.analysis.steps import step_rows
from core.api.responses.answers import answer_of, note_fields
from core.model import Answer, AnswerKind, Author, Phase, Usage
from core.run.state import Run
from core.text.sanitize import pluralize


class ToolUse(BaseModel):
    """A tool that a model called, or a search that a query of its led to, and the outcome."""

    name: str
    input: str
    output: str


class TokenUsage(BaseModel):
    """Tokens of one call, and its cost in US dollars where the provider states one."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    """None for a step of an agent, of which the total alone is known."""
    total_tokens: int
    cost: float | None = None


class ResponseMetadata(TypedDict, total=False):
    """What is known of the model's call; empty where nothing is."""

    model: str
    token_usage: TokenUsage | None
    """None where the provider gave no counts, or where those of other steps are among them."""


class AgentMessage(BaseModel):
    """One step that a model took."""

    agent: str
    content: str
    tools: list[ToolUse] = []
    response_metadata: ResponseMetadata = ResponseMetadata()
    execution_time: float = 0.0
    """Seconds."""


class AgentResponse(BaseModel):
    """A run as the messages of its steps."""

    query: str = ""
    agent_messages: list[AgentMessage] = []
    iterations: int = 0
    """How often an agent decided on its next steps, and how often the question was answered."""
    execution_time: float = 0.0
    """Seconds."""
    content: str = ""
    error: str = ""
    """Why the answer is not complete; empty where nothing failed."""
    notes: list[str] = []
    stored: bool = True
    """False: the run is in memory only, and `notes` say why."""


def agent_response(run: Run, unsaved: str = "") -> AgentResponse:
    """The run as agent messages. `unsaved` says why it is not stored, where it is not."""
    answers = [version.answer for version in run.earlier_answers] + ([run.answer] if run.answer else [])
    # Only the latest answer's time is known: a phase that begins again forgets its first span.
    times = [0.0] * (len(answers) - 1) + [_seconds(run, Phase.ANSWER)]
    answer_messages = [
        _message(answer, seconds)
        for answer, seconds in zip(answers, times, strict=False)
        if answer.kind is AnswerKind.WRITTEN or answer.model
    ]
    return AgentResponse(
        query=run.written,
        agent_messages=[*_rewrite(run), *(_steps(run) if run.steps else _plan(run)), *answer_messages],
        iterations=len(run.decisions) + len(answers),
        execution_time=run.seconds,
        content=answer_of(run),
        error=str(run.error or ""),
        **note_fields(run, unsaved),
    )


def _rewrite(run: Run) -> list[AgentMessage]:
    """The question that a model rewrote, where the run is a follow-up."""
    if run.turn is None or not run.turn.author:
        return []
    used = next((usage for usage in run.turn.usage if usage.model == run.turn.author), None)
    tokens = used.tokens if used and not used.estimated else None
    return [
        AgentMessage(
            agent="rewrite", content=run.question, response_metadata=_metadata(run.turn.author, tokens)
        )
    ]


def _steps(run: Run) -> list[AgentMessage]:
    model = next((used.usage.model for used in run.model_usage if not used.usage.local), "")
    return [
        AgentMessage(
            agent="agent",
            content=row.reason,
            tools=[ToolUse(name=row.tool, input=row.arguments, output=row.outcome)],
            response_metadata=ResponseMetadata(
                model=model, token_usage=TokenUsage(total_tokens=row.tokens) if row.tokens else None
            ),
            execution_time=row.seconds,
        )
        for row in step_rows(run)
    ]


def _plan(run: Run) -> list[AgentMessage]:
    queries = [query for query in run.queries if query.author is Author.MODEL]
    if not queries:
        return []
    outcomes = {
        query: f"{pluralize(len(reply.results), 'result')} from {reply.backend}"
        for query, reply in run.replies.items()
    }
    outcomes |= {query: fault.message for query, fault in run.search_faults.items()}
    return [
        AgentMessage(
            agent="plan",
            content="\n".join(query.text for query in queries),
            tools=[ToolUse(name="search", input=q.text, output=outcomes.get(q, "")) for q in queries],
            response_metadata=_plan_metadata(run),
            execution_time=_seconds(run, Phase.PLAN),
        )
    ]


def _plan_metadata(run: Run) -> ResponseMetadata:
    """Of the chat model. What it took to rewrite a follow-up is in the same sum, which then tells nothing of the plan."""
    used = next(
        (call.usage for call in run.model_usage if call.phase is Phase.PLAN and not call.usage.local), None
    )
    if used is None:
        return ResponseMetadata()
    is_summed = used.estimated or (run.turn is not None and used.model == run.turn.author)
    return _metadata(used.model, None if is_summed else used.tokens)


def _metadata(model: str, usage: Usage | None) -> ResponseMetadata:
    tokens = TokenUsage(**usage.to_json(), cost=usage.cost) if usage else None
    return ResponseMetadata(model=model, token_usage=tokens)


def _message(answer: Answer, seconds: float) -> AgentMessage:
    return AgentMessage(
        agent="answer",
        content=answer.text,
        tools=[],
        response_metadata=_metadata(answer.model, answer.usage),
        execution_time=seconds,
    )


def _seconds(run: Run, phase: Phase) -> float:
    span = run.timeline.phases.get(phase)
    return span.seconds(run.seconds) if span else 0.0
