# ruff: noqa: TRY004  # invalid requests raise ValueError, whatever the type of the value
"""Messages to models and their replies: messages, tools and streamed chunks, with OpenAI's JSON form.

`to_json` returns the form of OpenAI's chat completions API. `from_json` reads it, and raises `ValueError` for anything
else.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

from core.model.usage import Usage

Role = Literal["system", "developer", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = get_args(Role)

_FUNCTION_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


# --- tools ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFunction:
    """A function that a model may call. `parameters` is a JSON Schema of its arguments."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _FUNCTION_NAME.fullmatch(self.name):
            raise ValueError("a function's name has 1 to 64 letters, digits, _ or -")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """A tool that is offered to a model. Every tool is a function."""

    function: ToolFunction

    def to_json(self) -> dict[str, Any]:
        """Return an entry of `tools` for a chat request."""
        function = self.function
        description = {"description": function.description} if function.description else {}
        return {
            "type": "function",
            "function": {"name": function.name, **description, "parameters": dict(function.parameters)},
        }

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Read an entry of `tools`.

        Raises:
            ValueError: when parts are missing. The message names them.
        """
        function = _function_of(value)
        name, description = function.get("name"), function.get("description") or ""
        parameters = function.get("parameters") or {}
        if not isinstance(name, str) or not isinstance(description, str) or not isinstance(parameters, dict):
            raise ValueError("a tool needs a function with name, description and parameters")
        return cls(function=ToolFunction(name=name, description=description, parameters=parameters))


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCall:
    """A function call written by a model. `arguments` should be a JSON object, but may be any text."""

    name: str
    arguments: str = "{}"

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a function call needs the name of its function")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's request to call a function. The result is sent in a `Message` of role tool with the same id."""

    id: str
    function: FunctionCall

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("a tool call needs an id")

    def to_json(self) -> dict[str, Any]:
        """Return an entry of `tool_calls` for a message."""
        function = {"name": self.function.name, "arguments": self.function.arguments}
        return {"id": self.id, "type": "function", "function": function}

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Read an entry of `tool_calls`.

        Raises:
            ValueError: when parts are missing. The message names them.
        """
        function = _function_of(value)
        call_id, name, arguments = value.get("id"), function.get("name"), function.get("arguments")
        if not isinstance(call_id, str) or not isinstance(name, str) or not isinstance(arguments, str):
            raise ValueError("a tool call needs an id, and a function with name and arguments")
        return cls(id=call_id, function=FunctionCall(name=name, arguments=arguments))


def _function_of(value: Any) -> dict[str, Any]:
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict) or value.get("type", "function") != "function":
        raise ValueError("a tool is an object with type function and a function")
    return function


# --- messages ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation.

    Only an assistant calls tools, and only a tool's message answers a call, by `tool_call_id`. Null content in JSON is
    "" here.
    """

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"role must be one of {', '.join(ROLES)}")
        if self.tool_calls and self.role != "assistant":
            raise ValueError("only an assistant's message has tool_calls")
        if bool(self.tool_call_id) != (self.role == "tool"):
            raise ValueError("a tool's message has a tool_call_id, and no other has")

    def to_json(self) -> dict[str, Any]:
        """Return an entry of `messages` for a chat request."""
        message: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            message["content"] = self.content or None
            message["tool_calls"] = [call.to_json() for call in self.tool_calls]
        if self.tool_call_id:
            message["tool_call_id"] = self.tool_call_id
        return message

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Read an entry of `messages`.

        Raises:
            ValueError: when the entry is invalid. The message says why.
        """
        if not isinstance(value, dict):
            raise ValueError("a message is an object")
        calls, call_id = value.get("tool_calls") or [], value.get("tool_call_id") or ""
        if not isinstance(calls, list) or not isinstance(call_id, str):
            raise ValueError("tool_calls is a list, and tool_call_id a text")
        return cls(
            role=value.get("role", ""),
            content=content_text(value.get("content")),
            tool_calls=tuple(map(ToolCall.from_json, calls)),
            tool_call_id=call_id,
        )


def content_text(content: Any) -> str:
    """Return the text of a message's content, or "". The content may be a list of parts."""
    if isinstance(content, list):
        return "".join(content_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


# --- replies ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A request that is sent again after a temporary refusal or a lost connection."""

    server: str
    """Host and port."""
    seconds: float
    """The wait before the next attempt."""
    reason: str
    """The reason, such as `rate limit`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamChunk:
    """A piece of a streamed reply: text, reasoning or a whole tool call. The last piece has `finish` and maybe `usage`.

    A chunk with `retry` precedes a wait. The request is then sent again, before any part of the reply has come. An
    empty chunk reports that a held-back part of the reply has come.
    """

    text_delta: str = ""
    reasoning_delta: str = ""
    tool_call: ToolCall | None = None
    finish: str | None = None
    usage: Usage | None = None
    retry: Retry | None = None
    takes_back: bool = False
    """Whether all earlier text was reasoning. `reasoning_delta` repeats it, and the answer begins after it."""
    skipped: int = 0
    """The number of empty frames in the reply, in the last chunk."""
    cut: str = ""
    """The reason why OpenQuery ended the reply, to follow "The answer". `finish` is then `length`."""


@dataclass(slots=True)
class ReplyText:
    """The joined text and reasoning of a reply's chunks."""

    text: str = ""
    reasoning: str = ""
    finish: str = ""

    def read(self, chunk: StreamChunk) -> None:
        """Add the next chunk."""
        self.text = ("" if chunk.takes_back else self.text) + chunk.text_delta
        self.reasoning += chunk.reasoning_delta
        self.finish = chunk.finish or self.finish
