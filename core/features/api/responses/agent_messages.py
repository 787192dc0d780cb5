"""A run as agent messages: one for each call of its chat model."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import BaseModel
from typing_extensions import TypedDict

from core.analysis.steps import StepRow, step_rows
from core.features.api.responses.answers import answer_of, note_fields
from core.model import Answer, Author, Phase, Usage
from core.run.events import Purpose
from core.run.run_values import ModelCall
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
    estimated: bool = False
    """The provider gave no counts, or was not waited for: estimated from the texts."""


class ResponseMetadata(TypedDict, total=False):
    """The known data of a model's call, possibly empty."""

    model: str
    token_usage: TokenUsage | None
    """The tokens. None in runs of earlier versions, if the counts are missing or include other steps."""


class AgentMessage(BaseModel):
    """One call of a chat model."""

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
    """Why the answer is incomplete, or ""."""
    notes: list[str] = []
    stored: bool = True
    """False: the run is in memory only, and `notes` say why."""


def agent_response(run: Run, unsaved: str = "") -> AgentResponse:
    """The run as agent messages. `unsaved` says why it is not stored, where it is not."""
    answers = [version.answer for version in run.earlier_answers] + ([run.answer] if run.answer else [])
    return AgentResponse(
        query=run.written,
        agent_messages=[
            *_rewrite(run),
            *_of_earlier_versions(run, answers),
            *(_of_call(call, run) for call in run.calls if call.end is not None),
            *(_message(answer, 0.0) for answer in answers if answer.cached),
        ],
        iterations=len(run.decisions) + len(answers),
        execution_time=run.seconds,
        content=answer_of(run),
        error=str(run.error or ""),
        **note_fields(run, unsaved),
    )


AGENTS = {Purpose.PLAN: "plan", Purpose.DECIDE: "agent", Purpose.VERDICT: "verdict", Purpose.ANSWER: "answer"}


def _of_call(call: ModelCall, run: Run) -> AgentMessage:
    return AgentMessage(
        agent=AGENTS[call.purpose],
        content=call.text,
        tools=_tools(call, run),
        response_metadata=_metadata(call.model, call.tokens, estimated=call.estimated),
        execution_time=(run.seconds if call.end is None else call.end) - call.start,
    )


def _tools(call: ModelCall, run: Run) -> list[ToolUse]:
    """The searches of the queries that a call wrote, or the steps that it decided on."""
    if call.decision is not None and call.decision < len(run.decisions):
        earlier = sum(len(decision.calls) for decision in run.decisions[: call.decision])
        count = len(run.decisions[call.decision].calls)
        return [_tool(row) for row in step_rows(run) if earlier < row.number <= earlier + count]
    if call.purpose is not Purpose.PLAN:
        return []
    outcomes = _outcomes(run)
    searched = {query.text for query in run.queries}
    return [
        ToolUse(name="search", input=text, output=outcomes.get(text, ""))
        for text in call.text.split("\n")
        if text in searched
    ]


def _of_earlier_versions(run: Run, answers: Sequence[Answer]) -> Iterator[AgentMessage]:
    """Return the messages of calls without records of their own, as in runs of earlier versions."""
    purposes = Counter(call.purpose for call in run.calls)
    if not purposes[Purpose.PLAN] + purposes[Purpose.DECIDE]:
        yield from _steps(run) if run.steps else _plan(run)
    if run.sections and run.calls:
        return
    written = [answer for answer in answers if answer.model and not answer.cached]
    older = written[: max(len(written) - purposes[Purpose.ANSWER], 0)]
    for answer in older:
        is_latest = answer is run.answer  # only its time is known
        yield _message(answer, _seconds(run, Phase.ANSWER) if is_latest else 0.0)


def _rewrite(run: Run) -> list[AgentMessage]:
    """The question that a model rewrote, where the run is a follow-up."""
    if run.turn is None or not run.turn.author:
        return []
    used = next((usage for usage in run.turn.usage if usage.model == run.turn.author), None)
    return [
        AgentMessage(
            agent="rewrite",
            content=run.question,
            response_metadata=_metadata(
                run.turn.author, used.tokens if used else None, estimated=bool(used and used.estimated)
            ),
            execution_time=run.turn.seconds,
        )
    ]


def _steps(run: Run) -> list[AgentMessage]:
    model = next((used.usage.model for used in run.model_usage if not used.usage.local), "")
    return [
        AgentMessage(
            agent="agent",
            content=row.reason,
            tools=[_tool(row)],
            response_metadata=ResponseMetadata(
                model=model, token_usage=TokenUsage(total_tokens=row.tokens) if row.tokens else None
            ),
            execution_time=row.seconds,
        )
        for row in step_rows(run)
    ]


def _tool(row: StepRow) -> ToolUse:
    return ToolUse(name=row.tool, input=row.arguments, output=row.outcome)


def _plan(run: Run) -> list[AgentMessage]:
    queries = [query for query in run.queries if query.author is Author.MODEL]
    if not queries:
        return []
    outcomes = _outcomes(run)
    return [
        AgentMessage(
            agent="plan",
            content="\n".join(query.text for query in queries),
            tools=[ToolUse(name="search", input=q.text, output=outcomes.get(q.text, "")) for q in queries],
            response_metadata=_plan_metadata(run),
            execution_time=_seconds(run, Phase.PLAN),
        )
    ]


def _outcomes(run: Run) -> dict[str, str]:
    outcomes = {
        query.text: f"{pluralize(len(reply.results), 'result')} from {reply.backend}"
        for query, reply in run.replies.items()
    }
    return outcomes | {query.text: fault.message for query, fault in run.search_faults.items()}


def _plan_metadata(run: Run) -> ResponseMetadata:
    """Of the chat model. What it took to rewrite a follow-up is in the same sum, which then tells nothing of the plan."""
    used = next(
        (call.usage for call in run.model_usage if call.phase is Phase.PLAN and not call.usage.local), None
    )
    if used is None:
        return ResponseMetadata()
    is_summed = used.estimated or (run.turn is not None and used.model == run.turn.author)
    return _metadata(used.model, None if is_summed else used.tokens)


def _metadata(model: str, usage: Usage | None, *, estimated: bool = False) -> ResponseMetadata:
    tokens = TokenUsage(**usage.to_json(), cost=usage.cost, estimated=estimated) if usage else None
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
