"""A run as a response of OpenAI's chat completions API, with citations as annotations."""

import time
from typing import Any, Literal

from pydantic import BaseModel

from core.api.openai.requests import MODEL
from core.api.responses.answers import answer_of, note_fields, nothing_found
from core.model import Usage
from core.run.state import Run


class UrlCitation(BaseModel):
    """The characters of the message from `start_index` up to `end_index` cite this page."""

    start_index: int
    end_index: int
    url: str
    title: str


class Annotation(BaseModel):
    """A citation in a message."""

    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class CompletionUsage(BaseModel):
    """Tokens of the whole run on model servers: queries, embeddings, reranking and the answer. Zeros where none was asked."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class AssistantMessage(BaseModel):
    """The answer."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: str | None = None
    annotations: list[Annotation]


class Choice(BaseModel):
    """The one answer of a completion."""

    index: int = 0
    message: AssistantMessage
    finish_reason: str
    logprobs: None = None


class ChatCompletion(BaseModel):
    """The reply of `POST /v1/chat/completions`."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str = MODEL
    choices: list[Choice]
    usage: CompletionUsage
    notes: list[str] = []
    """Not OpenAI's: what the caller should know of how the answer was made."""
    stored: bool = True
    """Not OpenAI's. False: the run is in memory only, and `notes` say why."""


class Model(BaseModel):
    """The one model."""

    id: str = MODEL
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "openquery"


class ModelList(BaseModel):
    """The reply of `GET /v1/models`."""

    object: Literal["list"] = "list"
    data: list[Model]


def completion(run: Run, unsaved: str = "") -> ChatCompletion:
    """The whole answer. `unsaved` says why the run is not stored, where it is not."""
    message = AssistantMessage(content=run.text or answer_of(run), annotations=citations(run))
    return ChatCompletion(
        id=completion_id(run),
        created=int(time.time()),
        choices=[Choice(message=message, finish_reason=finish_reason(run))],
        usage=completion_usage(run),
        **note_fields(run, unsaved),
    )


def completion_id(run: Run) -> str:
    """A completion's id; without its beginning it is the run's."""
    return f"chatcmpl-{run.id}"


def citations(run: Run) -> list[Annotation]:
    """Every mark in the answer that cites a source which exists."""
    numbered = {source.number: source for source in run.sources}
    return [
        Annotation(
            url_citation=UrlCitation(
                start_index=mark.start,
                end_index=mark.end,
                url=numbered[mark.number].url,
                title=numbered[mark.number].title,
            )
        )
        for mark in run.check.citations
        if mark.number in numbered
    ]


def finish_reason(run: Run) -> str:
    """Why the answer ends here, in OpenAI's words; what broke off is "length", which clients know as incomplete."""
    reason = run.answer.finish if run.answer else None
    if reason in ("length", "content_filter"):
        return str(reason)
    whole = run.answer.complete if run.answer else nothing_found(run)
    return "stop" if whole else "length"


def completion_usage(run: Run) -> CompletionUsage:
    """The tokens of the whole run."""
    return CompletionUsage(**(run.usage or Usage(prompt_tokens=0)).to_json())


def completion_chunk(
    run: Run, created: int, delta: dict[str, Any] | None, finish_reason: str | None = None, **more: Any
) -> dict[str, Any]:
    """One `chat.completion.chunk`; without choices when there is no delta."""
    choices = (
        []
        if delta is None
        else [{"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}]
    )
    return {
        "id": completion_id(run),
        "object": "chat.completion.chunk",
        "created": created,
        "model": MODEL,
        "choices": choices,
        **more,
    }
