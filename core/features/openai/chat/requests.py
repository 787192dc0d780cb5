"""Requests of OpenAI's chat completions API, with checks for unsupported parameters."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints

from core.config.knobs import MOST_ANSWER_TOKENS, Knobs, within_sites
from core.features.api.strict_json import Strict
from core.model import Role
from core.serving.problems import Fault, Refusal

MODEL = "openquery"

_NO_OP_VALUES: Mapping[str, tuple[Any, ...]] = {
    "n": (1,),
    "response_format": ({"type": "text"},),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "modalities": (["text"],),
    "audio": (),
    "prediction": (),
}
"""Parameters that ask for another kind of answer, each with the values that ask for nothing. All may be null."""
_TOOL_FIELDS = (("tools", "tool_choice"), ("functions", "function_call"))
"""The field with the client's tools, and the field that says whether one has to be called."""
WEB_SEARCH = re.compile(r"web_search(_preview)?(_\d{4}_\d{2}_\d{2})?")
"""Types of the tool that searches the web, which OpenQuery does for every question."""

TEXT_PARTS = ("text", "input_text", "output_text", "refusal")
"""Types of content parts that are read, or need not be. The names with a prefix are those of the responses API."""
Site = Annotated[str, Field(pattern=r"^-?[^\s,]{1,253}$")]
SiteList = Annotated[list[Site], Field(max_length=20)]
StopSequence = Annotated[str, StringConstraints(min_length=1, max_length=200)]
TokenLimit = Annotated[
    Annotated[int, Field(ge=1, le=2**53 - 1)] | None,
    BeforeValidator(lambda limit: None if limit == -1 else limit),  # as clients of local servers say no limit
]


class LenientModel(Strict):
    """Part of a request by a client of OpenAI's: it may hold many fields that mean nothing here."""

    model_config = ConfigDict(extra="ignore")


class SearchFilters(LenientModel):
    """`filters` of OpenAI's web search tool."""

    allowed_domains: SiteList | None = None
    blocked_domains: SiteList | None = None


class WebSearchOptions(LenientModel):
    """`web_search_options`: OpenAI's own fields ask for nothing here, those about sites narrow the search."""

    filters: SearchFilters | None = None
    only_domains: SiteList | None = None
    without_domains: SiteList | None = None


class ContentPart(LenientModel):
    """A part of a message; only text is read."""

    type: str = "text"
    text: str | None = None


class ClientMessage(LenientModel):
    """A message of the conversation."""

    role: Role | Literal["function"]
    content: str | list[str | ContentPart] | None = None

    @property
    def text(self) -> str:
        """The message's texts, one a line."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(filter(None, map(_text_of, self.content or ())))

    @property
    def other_parts(self) -> tuple[int, ...]:
        """The places of the parts that are no text, such as images."""
        parts = self.content if isinstance(self.content, list) else ()
        return tuple(
            place
            for place, part in enumerate(parts)
            if isinstance(part, ContentPart) and part.type not in TEXT_PARTS
        )


def _text_of(part: str | ContentPart) -> str:
    if isinstance(part, str):
        return part
    return (part.text or "") if part.type.endswith("text") else ""


class StreamOptions(LenientModel):
    """What a stream also has."""

    include_usage: bool | None = None


class ChatRequest(LenientModel):
    """A chat request. The user's last message is the question, and earlier messages are its history."""

    model: str
    messages: Annotated[list[ClientMessage], Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_completion_tokens: TokenLimit = None
    """The most tokens of the answer, reasoning included."""
    max_tokens: TokenLimit = None
    """The older name of max_completion_tokens, which comes first."""
    stop: StopSequence | Annotated[list[StopSequence], Field(max_length=4)] | None = None
    """The answer ends before the first of these texts."""
    web_search_options: WebSearchOptions | None = None
    """The sites to search and those to leave out, as `filters` with `allowed_domains` and `blocked_domains`."""
    search_domain_filter: SiteList | None = None
    """Sites to search, or with a minus sign to leave out."""
    n: Any = None
    tools: Any = None
    tool_choice: Any = None
    functions: Any = None
    function_call: Any = None
    response_format: Any = None
    logprobs: Any = None
    top_logprobs: Any = None
    logit_bias: Any = None
    modalities: Any = None
    audio: Any = None
    prediction: Any = None

    @property
    def client_tools(self) -> list[Any]:
        """The tools that the client offers, without a search of the web."""
        return [
            tool
            for field, _ in _TOOL_FIELDS
            if isinstance(tools := getattr(self, field), list)
            for tool in tools
            if not (isinstance(tool, dict) and WEB_SEARCH.fullmatch(str(tool.get("type"))))
        ]

    def knobs(self, knobs: Knobs) -> Knobs:
        """The session's knobs with what this request asks of its answer."""
        answer = knobs.answer
        if self.temperature is not None:
            answer = replace(answer, temperature=self.temperature)
        if limit := self.max_completion_tokens or self.max_tokens:
            answer = replace(answer, max_tokens=min(limit, MOST_ANSWER_TOKENS))
        if self.stop is not None:
            stop = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)
            answer = replace(answer, stop=stop)
        rank = within_sites(knobs.rank, *sites_of(self.web_search_options, self.search_domain_filter))
        return replace(knobs, answer=answer, rank=rank)


def check_model(name: str) -> None:
    """Refuse every model but the one, whose name may have the tag `:latest`. Raises Refusal."""
    if name.removesuffix(":latest") != MODEL:
        fault = Fault(field="model", message=f"The only one is {MODEL}.")
        raise Refusal(404, "There is no such model here.", errors=[fault], code="model_not_found")


def check_request(request: ChatRequest) -> None:
    """Refuse a request that asks for what an answer cannot be here.

    Raises:
        Refusal: when the model is not OpenQuery, or a parameter or part cannot be honoured; it names the field.
    """
    check_model(request.model)
    refuse_unsupported(
        [
            *unsupported_parameters(request, _NO_OP_VALUES),
            *_required_calls(request),
            *_unsupported_parts(request),
        ]
    )


def refuse_unsupported(faults: Sequence[Fault]) -> None:
    """Raise a `Refusal` with the fields of these faults, if there are any."""
    if faults:
        fields = ", ".join(fault.field for fault in faults)
        raise Refusal(
            400,
            f"OpenQuery answers with one text and its citations; this asks for something else: {fields}.",
            "Leave it out.",
            errors=faults,
            code="unsupported_parameter",
        )


def unsupported_parameters(request: LenientModel, values: Mapping[str, tuple[Any, ...]]) -> Iterator[Fault]:
    """Yield a fault for each parameter that has none of its `values` and is not null."""
    for name, no_op_values in values.items():
        value = getattr(request, name)
        if value is not None and value not in no_op_values:
            yield Fault(field=name, message="This is not supported.")


def _required_calls(request: ChatRequest) -> Iterator[Fault]:
    """Yield a fault where a tool of the client has to be called. A model that may choose can leave tools alone."""
    for field, choice in _TOOL_FIELDS:
        value = getattr(request, choice)
        kind = value.get("mode") or value.get("type") or "named" if isinstance(value, dict) else value
        is_free = kind in (None, "auto", "none") or WEB_SEARCH.fullmatch(str(kind))
        if request.client_tools and getattr(request, field) and not is_free:
            yield Fault(field=choice, message="OpenQuery calls no tools of a client.")


def _unsupported_parts(request: ChatRequest) -> Iterator[Fault]:
    """Images and files of the message that asks. In earlier messages they are left out."""
    row = last_user(request)
    for column in request.messages[row].other_parts if row >= 0 else ():
        yield Fault(field=f"messages.{row}.content.{column}.type", message="Only text can be read.")


def last_user(request: ChatRequest) -> int:
    """Return the place of the last message of the user, or -1."""
    rows = [row for row, message in enumerate(request.messages) if message.role == "user"]
    return rows[-1] if rows else -1


def sites_of(
    options: WebSearchOptions | None, domain_filter: SiteList | None
) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """Return the allowed and the excluded sites of a request, each None by default.

    `domain_filter` is Perplexity's `search_domain_filter`, which excludes with a minus sign.
    """
    only = [*_listed(options, "only_domains", "allowed_domains")]
    without = [*_listed(options, "without_domains", "blocked_domains")]
    for site in domain_filter or ():
        (without if site.startswith("-") else only).append(site.removeprefix("-"))
    return tuple(only) or None, tuple(without) or None


def _listed(options: WebSearchOptions | None, own: str, of_filters: str) -> Iterator[str]:
    if options:
        yield from getattr(options, own) or ()
        yield from getattr(options.filters, of_filters, None) or ()
