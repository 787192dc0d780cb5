"""OpenAI's chat completions API over a run: requests, responses, and citations as annotations."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.api.problems import Refusal
from core.api.responses import answer_of, nothing_found
from core.run.state import Run

MODEL = "openquery"


class _Foreign(BaseModel):
    """Part of a request by a client of OpenAI's: it may hold many fields that mean nothing here."""

    model_config = ConfigDict(
        extra="ignore", strict=True, frozen=True, allow_inf_nan=False, hide_input_in_errors=True
    )


class TextPart(_Foreign):
    type: str
    text: str = ""


class ChatMessage(_Foreign):
    role: str
    content: str | list[TextPart] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.type == "text")


class StreamOptions(_Foreign):
    include_usage: bool | None = None


class ChatRequest(_Foreign):
    """The last message of the user is the question; what was said before it is not looked at."""

    model: str
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    n: Literal[1] | None = None


class UrlCitation(BaseModel):
    """The characters of the message from `start_index` up to `end_index` cite this page."""

    start_index: int
    end_index: int
    url: str
    title: str


class Annotation(BaseModel):
    type: Literal["url_citation"] = "url_citation"
    url_citation: UrlCitation


class CompletionUsage(BaseModel):
    """Zeros where no model wrote, or its provider did not tell."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class AssistantMessage(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: str | None = None
    annotations: list[Annotation]


class Choice(BaseModel):
    index: int = 0
    message: AssistantMessage
    finish_reason: str
    logprobs: None = None


class ChatCompletion(BaseModel):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str = MODEL
    choices: list[Choice]
    usage: CompletionUsage


class Model(BaseModel):
    id: str = MODEL
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "openquery"


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[Model]


def question_of(request: ChatRequest) -> str:
    """
    Raises:
        Refusal: when the model is not OpenQuery, or no user says anything.
    """
    if request.model != MODEL:
        raise Refusal(404, "There is no such model here.", f"The only one is {MODEL}.")
    question = next((m.text.strip() for m in reversed(request.messages) if m.role == "user"), "")
    if not question:
        raise Refusal(422, "No message of a user holds a question.", "Add one with the role user.")
    return question


def completion(run: Run) -> ChatCompletion:
    message = AssistantMessage(content=run.text or answer_of(run), annotations=citations(run))
    return ChatCompletion(
        id=name_of(run),
        created=int(time.time()),
        choices=[Choice(message=message, finish_reason=finish(run))],
        usage=usage(run),
    )


def name_of(run: Run) -> str:
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


def finish(run: Run) -> str:
    """Why the answer ends here, in OpenAI's words; what broke off is "length", which clients know as incomplete."""
    told = run.answer.finish if run.answer else None
    if told in ("length", "content_filter"):
        return str(told)
    whole = run.answer.complete if run.answer else nothing_found(run)
    return "stop" if whole else "length"


def usage(run: Run) -> CompletionUsage:
    told = run.answer.usage if run.answer else None
    prompt, written = (told.prompt_tokens, told.completion_tokens) if told else (0, 0)
    return CompletionUsage(prompt_tokens=prompt, completion_tokens=written, total_tokens=prompt + written)


def chunk(
    run: Run, created: int, delta: dict[str, Any] | None, finish_reason: str | None = None, **more: Any
) -> dict[str, Any]:
    """One `chat.completion.chunk`; without choices when there is no delta."""
    choices = (
        []
        if delta is None
        else [{"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}]
    )
    return {
        "id": name_of(run),
        "object": "chat.completion.chunk",
        "created": created,
        "model": MODEL,
        "choices": choices,
        **more,
    }
