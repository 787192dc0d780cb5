"""A run as a response of OpenAI's chat completions API, with citations as annotations."""

import time
from typing import Any, Literal

from pydantic import BaseModel

from core.features.api.responses.answers import answer_of, note_fields, nothing_found
from core.features.openai.chat.requests import MODEL
from core.model import Source, Usage
from core.run.state import Run
from core.text.markdown.source_links import LinkedMark, LinkedWriter


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
    logprobs: dict[str, Any] | None = None
    """Always null."""


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


class AnswerText:
    """The text of an answer as a chat client gets it, in pieces or whole.

    With `links` its citation marks are Markdown links, numbered by page, and a list of the cited pages closes it.
    """

    def __init__(self, *, links: bool) -> None:
        self._writer = LinkedWriter() if links else None

    def piece(self, run: Run, text: str) -> str:
        """Return what the client gets after the next piece of the answer."""
        return self._writer.write(text, numbered(run)) if self._writer else text

    def end(self, run: Run) -> str:
        """Return what closes the answer."""
        return self._writer.close(numbered(run)) if self._writer else ""

    def annotations(self, run: Run) -> list[Annotation]:
        """Return every citation of a source that exists, by its place in what the client got."""
        if self._writer is None:
            marks = [LinkedMark(mark.number, mark.start, mark.end) for mark in run.check.citations]
        else:
            marks = self._writer.marks
        sources = numbered(run)
        return [
            Annotation(
                url_citation=UrlCitation(
                    start_index=mark.start,
                    end_index=mark.end,
                    url=sources[mark.number].url,
                    title=sources[mark.number].title,
                )
            )
            for mark in marks
            if mark.number in sources
        ]


def numbered(run: Run) -> dict[int, Source]:
    """Return the sources of an answer by number, with those of a report's sections."""
    sections = (source for section in run.sections for source in section.sources)
    return {source.number: source for source in (*sections, *run.sources)}


def sent_text(run: Run, *, links: bool) -> str:
    """Return the whole answer as a chat client gets it."""
    text = AnswerText(links=links)
    return text.piece(run, run.text) + text.end(run)


def completion(run: Run, unsaved: str = "", *, links: bool) -> ChatCompletion:
    """The whole answer. `unsaved` says why the run is not stored, where it is not."""
    text = AnswerText(links=links)
    content = text.piece(run, run.text or answer_of(run)) + text.end(run)
    message = AssistantMessage(content=content, annotations=text.annotations(run))
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


def finish_reason(run: Run) -> str:
    """Return the end of the answer in OpenAI's words. A broken-off answer is "length", which means incomplete."""
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
    """Return a `chat.completion.chunk`. Without a delta it has no choices."""
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
