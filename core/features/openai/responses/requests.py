"""Requests of OpenAI's responses API, read as chat requests, and what is refused of them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from core.features.openai.chat.messages import ReadMessages, read_messages
from core.features.openai.chat.requests import (
    ChatRequest,
    ClientMessage,
    ContentPart,
    LenientModel,
    SearchFilters,
    TokenLimit,
    WebSearchOptions,
    check_model,
    check_request,
    refuse_unsupported,
    unsupported_parameters,
)
from core.model import Role
from core.serving.problems import Fault, Refusal

ID = r"^(resp_)?[A-Za-z0-9_-]{1,64}$"
PREFIX = "resp_"

SERVER_TOOLS = re.compile(r"file_search|mcp|code_interpreter|computer(_.*)?|image_generation")
"""Types of tools that OpenAI's server runs. All others are of the client, and a model may leave them alone."""

_NO_OP_VALUES: Mapping[str, tuple[Any, ...]] = {
    "conversation": (),
    "prompt": (),
    "top_logprobs": (0,),
}
"""Parameters that ask for what is not here, each with the values that ask for nothing. All may be null.

Of `text` only the format is looked at.
"""


class InputItem(LenientModel):
    """An item of the input. Only messages are read: calls, their outputs and reasoning are of other models."""

    type: str = "message"
    role: Role | None = None
    content: str | list[str | ContentPart] | None = None


class ClientTool(LenientModel):
    """A tool that the client offers. A web search is what OpenQuery does anyway; its sites narrow the search."""

    type: str
    name: str = ""
    filters: SearchFilters | None = None


class ResponseRequest(LenientModel):
    """The body of `POST /v1/responses`. The last message of the user is the question."""

    model: str
    input: Annotated[str, Field(min_length=1)] | Annotated[list[InputItem], Field(min_length=1)]
    instructions: str | None = None
    """Reaches the model that writes the answer, as a system message does."""
    previous_response_id: Annotated[str, Field(pattern=ID)] | None = None
    """The id of a response or a run, which the question follows. Its pages are used again where they cover it."""
    stream: bool | None = None
    background: bool | None = None
    """Reply at once with the id of the response, which `GET /v1/responses/{id}` tells more of."""
    store: bool | None = None
    """False: the run is deleted when it has ended."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_output_tokens: TokenLimit = None
    metadata: dict[str, str] | None = None
    """Repeated in the reply, and not stored."""
    tools: list[ClientTool] | None = None
    tool_choice: Any = None
    text: Any = None
    conversation: Any = None
    prompt: Any = None
    top_logprobs: Any = None


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request as a chat request and its messages."""

    chat: ChatRequest
    messages: ReadMessages


def read_request(request: ResponseRequest, *, accepts_instructions: bool) -> ReadRequest:
    """Read a request.

    Raises:
        Refusal: when it asks for what an answer cannot be here, or its messages cannot be read. It names the field.
    """
    check_model(request.model)
    refuse_unsupported([*_unsupported(request)])
    items = (
        [InputItem(role="user", content=request.input)] if isinstance(request.input, str) else request.input
    )
    places = [place for place, item in enumerate(items) if item.type == "message" and item.role]
    messages = [
        ClientMessage(role=items[place].role or "user", content=items[place].content) for place in places
    ]
    head = [ClientMessage(role="developer", content=request.instructions)] if request.instructions else []
    chat = ChatRequest(
        model=request.model,
        messages=[*head, *messages] or [ClientMessage(role="user", content="")],
        temperature=request.temperature,
        max_completion_tokens=request.max_output_tokens,
        web_search_options=_sites(request),
        tools=[tool.model_dump() for tool in request.tools or ()],
        tool_choice=request.tool_choice,
    )
    whole = isinstance(request.input, str)
    try:
        check_request(chat)
        return ReadRequest(chat, read_messages(chat, accepts_instructions=accepts_instructions))
    except Refusal as refusal:
        refusal.errors = tuple(_named(fault, places, len(head), whole=whole) for fault in refusal.errors)
        raise


def _unsupported(request: ResponseRequest) -> Iterator[Fault]:
    yield from unsupported_parameters(request, _NO_OP_VALUES)
    answer_format = request.text.get("format") if isinstance(request.text, dict) else None
    if answer_format not in (None, {"type": "text"}):
        yield Fault(field="text.format", message="An answer is text with citations.")
    for place, tool in enumerate(request.tools or ()):
        if request.tool_choice != "none" and SERVER_TOOLS.fullmatch(tool.type):
            yield Fault(
                field=f"tools.{place}", message=f"OpenQuery runs no {tool.type[:80]}: its own search alone."
            )
    if isinstance(request.input, list) and request.input[-1].type.endswith("_output"):
        place = len(request.input) - 1
        yield Fault(field=f"input.{place}.type", message="OpenQuery has called no tool of the client.")
    if request.background and request.stream:
        yield Fault(
            field="stream", message="A response in the background is not streamed: ask for it by its id."
        )
    if request.background and request.store is False:
        yield Fault(field="store", message="A response in the background has to be stored.")


def _sites(request: ResponseRequest) -> WebSearchOptions | None:
    filters = [tool.filters for tool in request.tools or () if tool.filters]
    return WebSearchOptions(filters=filters[0]) if filters else None


def _named(fault: Fault, places: list[int], offset: int, *, whole: bool) -> Fault:
    """Return a fault of a chat request under its name in the request that was sent."""
    found = re.fullmatch(r"messages(?:\.(\d+))?(.*)", fault.field)
    if not found:
        field = {"max_completion_tokens": "max_output_tokens"}.get(fault.field, fault.field)
    elif found[1] is None or whole:
        field = "instructions" if found[1] and int(found[1]) < offset else "input"
    elif int(found[1]) < offset:
        field = "instructions"
    else:
        field = f"input.{places[int(found[1]) - offset]}{found[2]}"
    return Fault(field=field, message=fault.message)
