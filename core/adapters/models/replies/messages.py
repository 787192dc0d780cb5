"""Read the parts of a reply's JSON: text, reasoning, calls, refusal, usage, finish reason and errors.

Servers name and structure them differently. Each part is searched under all its known names.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from core.adapters.models.model_http import provider_text
from core.model import Usage, content_text

REFUSAL = "refusal"
"""The finish reason of a reply in which the model refuses."""
ERROR = "error"

_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking", "reasoning_details", "thinking_blocks")
"""Fields of thoughts, the most complete first: a server that sends several repeats the same words in each."""
_PLAIN_FIELDS = frozenset(("content", "role", "tool_calls", "refusal", "name", "annotations", "audio"))
_REASONING_NAME = re.compile(r"reason|think|thought|cot_|chain_of", re.IGNORECASE)
_NO_REASONING = re.compile(
    r"signature|encrypt|opaque|token|effort|format|type|finish|budget|_id$", re.IGNORECASE
)
_REASONING_PARTS = re.compile(r"thinking|reasoning|thought", re.IGNORECASE)
_CLASSES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        ERROR,
        re.compile(
            r"error|fail|abort|cancel|time.?out|timed.?out|time.?limit|unavailable|overload|insufficient|interrupt|disconnect"
            r"|malformed|crash|killed|unexpected|exhausted|incomplete(?!.?max)|terminated|rejected",
            re.IGNORECASE,
        ),
    ),
    (REFUSAL, re.compile(r"refus", re.IGNORECASE)),
    (
        "content_filter",
        re.compile(
            r"filter|safety|recitation|prohibited|blocklist|block(?:ed)?\b|spii|sensitive|moderat|guardrail|policy",
            re.IGNORECASE,
        ),
    ),
    (
        "length",
        re.compile(
            r"length|max.?(?:output.?)?tokens?|token.?limit|context.?window|max.?output|truncat",
            re.IGNORECASE,
        ),
    ),
    ("tool_calls", re.compile(r"tool|function", re.IGNORECASE)),
)
"""The meanings of finish reasons, the most serious first. Any other reason is a normal end."""
_NO_REASON = frozenset(("", "null", "none", "unspecified", "finish_reason_unspecified"))
_NO_ERROR = frozenset(("", "0", "200", "ok", "success", "none", "null", "false"))
_MOST_TOKENS = 20_000_000
"""Larger token counts are errors, because no request needs so many tokens."""


@dataclass(slots=True)
class Part:
    """The contents of one frame."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tool_calls: list[Any] = field(default_factory=list)
    finish: str = ""
    """The meaning of the finish reason, or ""."""
    reason: str = ""
    """The provider's finish reason."""
    usage: Mapping[str, Any] | None = None
    error: str | None = None
    """The message of an error, which may be empty. None without an error."""
    whole: bool = False
    """Whether the message is complete and not a piece."""
    is_reply: bool = True
    """Whether the JSON is a part of a chat reply."""


class MessageReader:
    """Reads the JSON of a reply, frame by frame."""

    def __init__(self, key: str = "") -> None:
        self._key = key
        self._index: Any = None
        self._streamed = Part()
        """The joined deltas. A whole message only repeats them."""
        self._message = ""
        """The text of whole messages so far. Some servers repeat and extend it in each frame."""

    def read(self, value: dict[str, Any]) -> Part:
        """Return the parts of one JSON object."""
        choice = self._choice(value)
        part = Part(error=self._error(value, choice))
        known = {"choices", "usage", "id", "done", "response"} & value.keys()
        part.is_reply = bool(known) or part.error is not None
        part.usage = _usage_of(value, choice)
        part.reason, part.finish = _finish_of(value, choice)
        if part.finish == ERROR and part.error is None:
            part.error = "" if part.reason == ERROR else part.reason
        self._read_message(value, choice, part)
        return part

    def _choice(self, value: dict[str, Any]) -> dict[str, Any]:
        choices = value.get("choices")
        rows = choices if isinstance(choices, list) else [choices]
        for row in rows:
            if isinstance(row, dict) and row:
                index = row.get("index") or 0
                if self._index is None:
                    self._index = index
                if index == self._index:
                    return row
        return {}

    def _error(self, value: dict[str, Any], choice: dict[str, Any]) -> str | None:
        delta = choice.get("delta")
        for holder in (value, choice, _dict(delta), _dict(value.get("x_groq"))):
            for name in ("error", "errors"):
                if name in holder and _is_error(holder.get(name)):
                    return provider_text(holder if holder[name] is True else holder[name], self._key)
        state = value.get("base_resp")  # MiniMax
        if isinstance(state, dict) and _is_error(state.get("status_code")):
            return provider_text(state, self._key)
        if not value.get("choices") and _says_error(value):
            return provider_text(value, self._key)
        return None

    def _read_message(self, value: dict[str, Any], choice: dict[str, Any], part: Part) -> None:
        delta = choice.get("delta")
        if delta and isinstance(delta, dict | str):
            _read_fields(delta if isinstance(delta, dict) else {"content": delta}, part)
            seen = self._streamed
            seen.text, seen.reasoning = part.text or seen.text, part.reasoning or seen.reasoning
            seen.tool_calls = part.tool_calls or seen.tool_calls
            if part.text or part.reasoning or part.tool_calls or part.refusal:
                return
        messages = [choice.get("message"), choice.get("text")]
        if "done" in value:  # Ollama's own API
            messages.append(value.get("message"))
        messages.append(value.get("response"))  # also Cloudflare's
        for place, message in enumerate(messages):
            if not message or not isinstance(message, dict | str):
                continue
            _read_fields(message if isinstance(message, dict) else {"content": message}, part)
            seen = self._streamed
            part.text, part.reasoning = (
                "" if seen.text else part.text,
                "" if seen.reasoning else part.reasoning,
            )
            part.tool_calls = [] if seen.tool_calls else part.tool_calls
            part.whole = place == 0
            if part.whole and self._message and part.text.startswith(self._message):
                part.text, self._message = part.text[len(self._message) :], part.text
            else:
                self._message += part.text
            return


def _read_fields(message: dict[str, Any], part: Part) -> None:
    content = message.get("content")
    part.text, part.reasoning, refused, called = _content(content)
    kinds = (message.get("type"), message.get("role"))
    vendor = _dict(_dict(message.get("extra_content")).get("google"))  # Gemini
    if vendor.get("thought") is True or any(_REASONING_NAME.search(content_text(kind)) for kind in kinds):
        part.text, part.reasoning = "", part.reasoning + part.text
    part.reasoning = part.reasoning or _thoughts_in(message)
    specific = message.get("provider_specific_fields")
    if not part.reasoning and isinstance(specific, dict):
        part.reasoning = _thoughts_in(specific)
    part.refusal = refused or content_text(message.get("refusal"))
    calls = message.get("tool_calls") or message.get("function_call")
    part.tool_calls = calls if isinstance(calls, list) else [calls] if isinstance(calls, dict) else called


def _thoughts_in(message: dict[str, Any]) -> str:
    """Find the reasoning field of a message, under a known or similar name."""
    if _PLAIN_FIELDS.issuperset(message):
        return ""
    others = (name for name in message if _REASONING_NAME.search(name) and not _NO_REASONING.search(name))
    fields = dict.fromkeys((*_REASONING_FIELDS, *others))
    return next((text for name in fields if (text := reasoning_text(message.get(name)))), "")


def _content(content: Any) -> tuple[str, str, str, list[Any]]:
    """Read a content's text, reasoning, refusal and tool calls. The content is a text, a part or a list of parts."""
    text, reasoning, refusal, calls = "", "", "", list[Any]()
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            text += part
        elif isinstance(part, dict):
            kind = content_text(part.get("type"))
            if (
                _REASONING_PARTS.search(kind)
                or part.get("thought") is True
                or (not kind and "thinking" in part)
            ):
                reasoning += reasoning_text(part)
            elif kind == REFUSAL or isinstance(part.get(REFUSAL), str):
                refusal += content_text(part.get(REFUSAL))
            elif kind in ("tool_use", "tool_call", "function_call"):
                calls.append(part)
            else:
                value = part.get("text")
                text += content_text(value.get("value") if isinstance(value, dict) else value)
    return text, reasoning, refusal, calls


def reasoning_text(value: Any, depth: int = 4) -> str:
    """Join the words of a reasoning field. Its parts may be nested."""
    if isinstance(value, str):
        return value
    if depth and isinstance(value, list):
        return "".join(reasoning_text(part, depth - 1) for part in value)
    if depth and isinstance(value, dict):
        names = ("text", "thinking", "reasoning", "summary", "content", "value", "reasoning_content")
        return next((text for name in names if (text := reasoning_text(value.get(name), depth - 1))), "")
    return ""


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# --- the end ----------------------------------------------------------------------------------------------


def _finish_of(value: dict[str, Any], choice: dict[str, Any]) -> tuple[str, str]:
    """Return the most serious finish reason and its meaning."""
    names = ("finish_reason", "native_finish_reason", "finishReason")
    reasons = [reason for name in names if choice.get(name) and (reason := _reason(choice[name]))]
    if not reasons:
        others = [choice.get("stop_reason"), choice.get("finish_details"), value.get("finish_reason")]
        others += [value.get("done_reason"), "stop" if value.get("done") is True else ""]
        reasons = [reason for other in filter(None, others) if (reason := _reason(other))][:1]
    if not reasons:
        return "", ""
    for meaning, pattern in _CLASSES:
        if found := next((reason for reason in reasons if pattern.search(reason)), ""):
            return found, meaning
    return reasons[0], "stop"


def _reason(value: Any) -> str:
    value = value.get("type") or value.get("reason") if isinstance(value, dict) else value
    text = content_text(value).strip()
    return "" if text.lower() in _NO_REASON else text[:200]


def _is_error(value: Any) -> bool:
    if isinstance(value, dict):
        details = [value.get(name) for name in ("message", "msg", "code", "type", "status", "detail")]
        return bool(value) and (
            any(map(_is_error, details)) or not any(detail is not None for detail in details)
        )
    if isinstance(value, list):
        return any(map(_is_error, value))
    return bool(value) and str(value).strip().lower() not in _NO_ERROR


def complaint(value: Mapping[str, Any], key: str) -> str:
    """Return the complaint in a non-reply object, or ""."""
    is_error = value.get("detail") or any(map(_is_error, map(value.get, ("code", "status_code", "errcode"))))
    return provider_text(value, key) if is_error else ""


def _says_error(value: dict[str, Any]) -> bool:
    """Check for other signs of failure in an object."""
    kinds = (content_text(value.get(name)).lower() for name in ("object", "type", "status"))
    return (
        any("error" in kind or kind in ("failed", "failure") for kind in kinds)
        or value.get("success") is False
        or any(_is_error(value.get(name)) for name in ("error_msg", "error_message", "errmsg", "error_code"))
    )


# --- token counts -----------------------------------------------------------------------------------------


def _usage_of(value: dict[str, Any], choice: dict[str, Any]) -> Mapping[str, Any] | None:
    places = (value.get("usage"), choice.get("usage"), _dict(value.get("x_groq")).get("usage"))
    for usage in places:
        if isinstance(usage, dict) and usage:
            return usage
    if "eval_count" in value:  # Ollama's own API
        return {
            "prompt_tokens": value.get("prompt_eval_count") or 0,
            "completion_tokens": value.get("eval_count"),
        }
    return None


def believable_usage(counts: Mapping[str, Any] | None, characters: int, limit: int) -> Usage | None:
    """Return the token counts, or None if implausible.

    They are implausible if one is negative or far too large, or if there are no tokens for a reply of `characters`
    characters. `limit` is the requested number of tokens.
    """
    if counts is None:
        return None
    named = dict(counts)
    for ours, theirs in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
        named.setdefault(ours, counts.get(theirs))
    prompt, total = named.get("prompt_tokens"), named.get("total_tokens")
    if named["completion_tokens"] is None and isinstance(prompt, int) and isinstance(total, int):
        named["completion_tokens"] = total - prompt
    numbers = [named.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")]
    if any(isinstance(number, int | float) and not 0 <= number <= _MOST_TOKENS for number in numbers):
        return None
    usage = None
    with suppress(ValueError, OverflowError):
        usage = Usage.from_json(named)
    if usage is None or usage.completion_tokens > 10 * limit + 10_000:
        return None
    return None if characters and not usage.completion_tokens else usage
