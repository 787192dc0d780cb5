"""A run as a response of OpenAI's responses API, with citations as annotations."""

import time
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from core.features.api.responses.answers import answer_of, note_fields, nothing_found
from core.features.openai.chat.requests import MODEL
from core.features.openai.chat.responses import AnswerText
from core.features.openai.responses.requests import PREFIX
from core.model import Usage
from core.run.state import Run, RunStatus

Status = Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]


class ResponseCitation(BaseModel):
    """The characters of the text from `start_index` up to `end_index` cite this page."""

    type: Literal["url_citation"] = "url_citation"
    start_index: int
    end_index: int
    url: str
    title: str


class OutputText(BaseModel):
    """The text of the answer."""

    type: Literal["output_text"] = "output_text"
    text: str
    annotations: list[ResponseCitation] = []
    logprobs: list[Any] = []


class OutputMessage(BaseModel):
    """The answer."""

    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    status: Literal["in_progress", "completed", "incomplete"]
    content: list[OutputText]


class InputTokensDetails(BaseModel):
    """Tokens that a provider had cached, which no run counts."""

    cached_tokens: int = 0
    cache_write_tokens: int = 0


class OutputTokensDetails(BaseModel):
    """Tokens of reasoning, which are counted with the others."""

    reasoning_tokens: int = 0


class ResponseUsage(BaseModel):
    """Tokens of the whole run on model servers: queries, embeddings, reranking and the answer."""

    input_tokens: int
    input_tokens_details: InputTokensDetails = InputTokensDetails()
    output_tokens: int
    output_tokens_details: OutputTokensDetails = OutputTokensDetails()
    total_tokens: int


class ResponseFailure(BaseModel):
    """Why a response failed."""

    code: str = "server_error"
    message: str


class IncompleteDetails(BaseModel):
    """Why a response ends early."""

    reason: Literal["max_output_tokens", "content_filter"]


class ResponseView(BaseModel):
    """The reply of `POST /v1/responses` and `GET /v1/responses/{id}`."""

    id: str
    object: Literal["response"] = "response"
    created_at: float
    status: Status
    background: bool = False
    error: ResponseFailure | None = None
    incomplete_details: IncompleteDetails | None = None
    instructions: str | None = None
    max_output_tokens: int | None = None
    metadata: dict[str, str] = {}
    model: str = MODEL
    output: list[OutputMessage]
    parallel_tool_calls: bool = False
    previous_response_id: str | None = None
    store: bool = True
    temperature: float | None = None
    text: dict[str, Any] = {"format": {"type": "text"}}
    tool_choice: str = "auto"
    tools: list[Any] = []
    top_p: float | None = None
    truncation: str = "disabled"
    usage: ResponseUsage | None = None
    notes: list[str] = []
    """Not OpenAI's: what the caller should know of how the answer was made."""
    stored: bool = True
    """Not OpenAI's. False: the run is in memory only, and `notes` say why."""


class Deleted(BaseModel):
    """The reply of `DELETE /v1/responses/{id}`."""

    id: str
    object: Literal["response"] = "response"
    deleted: bool = True


class InputList(BaseModel):
    """The reply of `GET /v1/responses/{id}/input_items`: the message that asked."""

    object: Literal["list"] = "list"
    data: list[dict[str, Any]]
    first_id: str
    last_id: str
    has_more: bool = False


def response_id(run_id: str) -> str:
    """Return the id of a run's response; without its beginning it is the run's."""
    return f"{PREFIX}{run_id}"


def run_of_response(name: str) -> str:
    """Return the id of the run of a response id, which may be the run's own."""
    return name.removeprefix(PREFIX)


def message_id(run: Run) -> str:
    """Return the id of the answer's message."""
    return f"msg_{run.id}"


def status_of(run: Run) -> Status:
    """Return the status of a run in OpenAI's words."""
    match run.status:
        case RunStatus.QUEUED:
            return "queued"
        case RunStatus.RUNNING:
            return "in_progress"
        case RunStatus.STOPPED:
            return "cancelled"
    if run.error and not nothing_found(run):
        return "failed"
    return "incomplete" if incomplete_reason(run) else "completed"


def incomplete_reason(run: Run) -> IncompleteDetails | None:
    """Return why the answer ends early, or None."""
    reason = run.answer.finish if run.answer else None
    if reason == "length":
        return IncompleteDetails(reason="max_output_tokens")
    return IncompleteDetails(reason="content_filter") if reason == "content_filter" else None


def output_message(run: Run, *, links: bool) -> OutputMessage:
    """Return the answer of a run as a message."""
    text = AnswerText(links=links)
    written = text.piece(run, run.text or answer_of(run)) + text.end(run)
    done = status_of(run) == "completed"
    return OutputMessage(
        id=message_id(run),
        status="completed" if done else "incomplete",
        content=[OutputText(text=written, annotations=citations(text, run))],
    )


def citations(text: AnswerText, run: Run) -> list[ResponseCitation]:
    """Return every citation by its place in the text that was sent."""
    return [ResponseCitation(**mark.url_citation.model_dump()) for mark in text.annotations(run)]


def response(run: Run, unsaved: str = "", *, links: bool, **echoed: Any) -> ResponseView:
    """Return a run as a response. `unsaved` says why it is not stored; `echoed` are fields of its request."""
    usage = (run.usage or Usage(prompt_tokens=0)).to_json()
    has_answer = not run.live and bool(run.answer or run.text or nothing_found(run))
    follows = run.turn.follows if run.turn else ""
    known: dict[str, Any] = {
        "instructions": (run.client.instructions or None) if run.client else None,
        "max_output_tokens": run.knobs.answer.max_tokens or None,
        "previous_response_id": response_id(follows) if follows else None,
        "temperature": run.knobs.answer.temperature,
    }
    failed = status_of(run) == "failed"
    return ResponseView(
        id=response_id(run.id),
        created_at=datetime.fromisoformat(run.started).timestamp() if run.started else time.time(),
        status=status_of(run),
        error=ResponseFailure(message=str(run.error)) if failed else None,
        incomplete_details=None if run.live or failed else incomplete_reason(run),
        output=[output_message(run, links=links)] if has_answer else [],
        usage=None
        if run.live
        else ResponseUsage(
            input_tokens=usage["prompt_tokens"],
            output_tokens=usage["completion_tokens"],
            total_tokens=usage["total_tokens"],
        ),
        **note_fields(run, unsaved),
        **known | {name: value for name, value in echoed.items() if value is not None},
    )
