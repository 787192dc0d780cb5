"""Find tool calls in a model's text, for servers that do not know the model's format.

Calls are recognised by an offered function and its arguments: as JSON, as tags, as a Python call, with any marks around
them.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.adapters.models.replies.calls import offered_name
from core.adapters.models.replies.loose_json import loose_value, strict_value
from core.model import FunctionCall, ToolCall

_BEGINS = re.compile(r"[<{\[`｜]|functions\.|\b(?:assistant\s)?to=functions")
_MARK = re.compile(
    r"<\|?/?(?:(?:start_)?(?:tool|function)_?calls?|tool_use|python_tag|tool_call_begin|toolcall)\b[^>\n]{0,60}>"
    r"|\[/?TOOL_(?:CALLS?|REQUEST|REQUEST_END)\]|\[END_TOOL_REQUEST\]|<｜tool▁calls?▁begin｜>|<function=|<invoke\s"
    r"|<\|channel\|>\w+ to=functions|<\|tool_calls?_section_begin\|>",
    re.IGNORECASE,
)
"""Marks that announce a call."""
_LEFTOVER = re.compile(
    r"function<｜tool▁sep｜>|<\|start\|>\s*assistant|</?\|?/?(?:tool_?calls?|function_?calls?|tool_use|toolcall|tools?|function|invoke)\b[^>\n]{0,60}>"
    r"|<[|｜][^<>\n]{1,60}[|｜]>|\[/?TOOL_\w+\]|\[END_TOOL_REQUEST\]|\[(?:ARGS|CALL_ID)\]|```\w*\s*```|\[[\s,]*\]"
    r"|<｜[^<>\n]{1,40}｜>",
    re.IGNORECASE,
)
_NAMESPACE = re.compile(
    r"<\s?(/?)\s?(?:[|｜]\s?\w{1,20}\s?[|｜]|\w{1,20}:)\s?(?=[a-z_]{3,20}[\s>=])", re.IGNORECASE
)
"""The prefix of a tag's name, as in `<minimax:invoke`."""
_NAME_KEYS = ("name", "tool", "tool_name", "function_name", "function", "recipient_name", "action")
_ARGUMENT_KEYS = (
    "arguments",
    "parameters",
    "args",
    "input",
    "tool_input",
    "params",
    "action_input",
    "kwargs",
)
_PARAMETERS = (
    re.compile(
        r'<parameter(?:=|\s+name=")([\w.-]+)"?[^>\n]{0,60}>(.*?)(?:</parameter>|(?=<parameter)|\Z)', re.DOTALL
    ),
    re.compile(r"<arg_key>\s*(.*?)\s*</arg_key>\s*<arg_value>(.*?)(?:</arg_value>|\Z)", re.DOTALL),
    re.compile(r"<(\w+)>(.*?)</\1>", re.DOTALL),
)
_BETWEEN = (
    r"(?::\d+)?(?:\s|<[^<>\n]{1,40}>|\[ARGS\]|json|code|commentary|action input|arguments|`{3}|[=:(>])*"
)
"""The text between a function's name and the JSON of its arguments."""
_BRACE = re.compile(r"[{\[]")
_NEAR = 160
"""Characters before JSON that are searched for the name of its function."""
_FENCE_END = re.compile(r"\s*```")
_MOST_TRIALS = 200
"""The maximum braces of a text that are tried as the beginning of JSON."""
_MOST_CHARACTERS = 8_000
"""The maximum characters of tags with arguments. No tool needs more."""
_TEXT = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_KEYWORD = re.compile(rf"(\w+)\s*=\s*({_TEXT})")
_KEYWORDS = rf"\(\s*((?:\w+\s*=\s*{_TEXT}\s*,?\s*)+)\)"

ReadValue = Callable[[str, int], tuple[Any, int] | None]
"""Reads the JSON at a place of a text, and returns it with its end."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A call in a text, at `start` to `end`."""

    start: int
    end: int
    name: str
    arguments: str


class WrittenCalls:
    """Passes text on until a possible call, and finds the calls at the end."""

    def __init__(self, names: Sequence[str]) -> None:
        """Find calls of `names`, the functions that the model was offered. Without any, all text is passed on."""
        self._names = tuple(names)
        self._held = self._passed = ""

    def read(self, text: str) -> str:
        """Return the text that may be passed on."""
        if not self._names:
            return text
        if self._held:
            self._held += text
            return ""
        begins = _BEGINS.search(text)
        passed = text[: begins.start()] if begins else text
        self._held = text[len(passed) :]
        self._passed = (self._passed + passed)[-_NEAR:]
        return passed

    def forget(self) -> None:
        """Drop held-back text that was a thought."""
        self._held = self._passed = ""

    def end(self, *, search: bool = True, only_marked: bool = False) -> tuple[str, tuple[ToolCall, ...]]:
        """Return held-back text without its calls, and the calls.

        A call's mark without a readable call gives a call with the following text as its arguments, so that the model
        is informed. Without `search` all held-back text stays text, and with `only_marked` so does a call without a mark.
        """
        held_text, self._held = self._held, ""
        if not search or not held_text:
            return held_text, ()
        text = _NAMESPACE.sub(r"<\1", held_text)
        mark = _MARK.search(text)
        if only_marked and mark is None:
            return held_text, ()
        written = _outermost(list(self._found(text, strict_value)))
        if not written:
            if mark is None:
                return held_text, ()
            loose = _outermost(list(self._found(text, loose_value)))
            written = [replace(call, start=mark.start(), end=len(text)) for call in loose]
            written = written or [self._unreadable(text, mark)]
        rest, place = "", 0
        for call in written:
            rest, place = rest + text[place : call.start], call.end
        rest = _LEFTOVER.sub("", rest + text[place:])
        calls = tuple(
            ToolCall(id=f"call_{number}", function=FunctionCall(name=call.name, arguments=call.arguments))
            for number, call in enumerate(written)
        )
        return _LEFTOVER.sub("", rest).rstrip(), calls

    def _found(self, text: str, read: ReadValue) -> Iterator[_Found]:
        marked = bool(_MARK.search(text))
        for start, end, value in _json_values(text, read):
            calls = list(self._calls_of(value, marked=marked))
            yield from (_Found(start, end, name, arguments) for name, arguments in calls)
            if not calls and isinstance(value, dict) and (named := self._named_before(text, start)):
                closing = _FENCE_END.match(text, end) if "```" in text[named[0] : start] else None
                whole = closing.end() if closing else end
                yield _Found(named[0], whole, named[1], json.dumps(value, ensure_ascii=False))
        yield from self._tagged(text)
        yield from self._python(text)

    def _calls_of(self, value: Any, *, marked: bool) -> Iterator[tuple[str, str]]:
        """Find the calls in a JSON value. A call is an object with a name and arguments, or there is a list of them."""
        if isinstance(value, list):
            for row in value:
                yield from self._calls_of(row, marked=marked)
            return
        if not isinstance(value, dict):
            return
        for key in ("tool_calls", "tool_uses", "calls"):
            if isinstance(value.get(key), list):
                yield from self._calls_of(value[key], marked=marked)
                return
        function = value.get("function")
        holder = function if isinstance(function, dict) else value
        name = next((holder[key] for key in _NAME_KEYS if isinstance(holder.get(key), str)), "")
        name = offered_name(name, self._names)
        arguments = next((holder[key] for key in _ARGUMENT_KEYS if key in holder), None)
        if name in self._names or (marked and name and arguments is not None):
            if arguments is None:
                arguments = {
                    k: v for k, v in holder.items() if k not in _NAME_KEYS and k not in ("id", "type")
                }
            yield (
                name[:64],
                arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False),
            )

    def _named_before(self, text: str, end: int) -> tuple[int, str] | None:
        """Find a function's position and name before JSON. Only marks may be between them."""
        start = max(0, end - _NEAR)
        before = (self._passed if not start else "") + text[start:end]
        offset = end - len(before)
        for name in self._names:
            pattern = rf"(?:\b|(?<=_))(?:\w*\s?to=)?(?:functions?[.:]|call:)?{re.escape(name)}{_BETWEEN}\Z"
            if match := re.search(pattern, before, re.IGNORECASE):
                return max(0, offset + match.start()), name
        return None

    def _tagged(self, text: str) -> Iterator[_Found]:
        """Find calls whose function is named in a tag. Arguments are in tags or JSON."""
        for name in self._names:
            escaped = re.escape(name)
            for opening, closing in (
                (rf"<function(?:=|\s+name=\"){escaped}\"?\s*>", r"</function>"),
                (rf"<invoke\s+name=\"(?:functions\.)?{escaped}\"\s*>", r"</invoke>"),
                (rf"<tool_call>\s*{escaped}\s*(?=<arg_key>|</tool_call>)", r"</tool_call>"),
                (rf"<{escaped}>", rf"</{escaped}>"),
            ):
                for match in re.finditer(rf"{opening}(.*?)(?:{closing}|\Z)", text, re.DOTALL | re.IGNORECASE):
                    yield _Found(match.start(), match.end(), name, _arguments_in(match[1]))

    def _python(self, text: str) -> Iterator[_Found]:
        """Find calls in Python syntax, with keywords."""
        for name in self._names:
            for match in re.finditer(
                rf"(?<![\w.])(?:functions\.)?{re.escape(name)}{_KEYWORDS}", text, re.DOTALL
            ):
                values = {
                    word[1]: re.sub(r"\\(.)", r"\1", word[2][1:-1]) for word in _KEYWORD.finditer(match[1])
                }
                yield _Found(match.start(), match.end(), name, json.dumps(values, ensure_ascii=False))

    def _unreadable(self, text: str, mark: re.Match[str]) -> _Found:
        body = text[mark.start() :]
        named = next(
            (name for name in self._names if re.search(rf"\b{re.escape(name)}\b", body)), "tool_call"
        )
        return _Found(mark.start(), len(text), named, _LEFTOVER.sub("", body[len(mark[0]) :]).strip() or "?")


def _arguments_in(body: str) -> str:
    """Convert arguments in a tag's body to JSON."""
    text = body.strip()
    if text.startswith("{"):
        return text
    body = body[:_MOST_CHARACTERS]
    values: dict[str, Any] = {}
    for pattern in _PARAMETERS:
        for match in pattern.finditer(body):
            values.setdefault(match[1].strip(), match[2].strip())
        if values:
            break
    return json.dumps(values, ensure_ascii=False)


def _json_values(text: str, read: ReadValue) -> Iterator[tuple[int, int, Any]]:
    """Yield the outermost objects and lists of a text."""
    place, trials = 0, 0
    while trials < _MOST_TRIALS and (match := _BRACE.search(text, place)):
        trials += 1
        value_and_end = read(text, match.start())
        if value_and_end is None:
            place = match.end()
            continue
        value, place = value_and_end
        yield match.start(), place, value


def _outermost(found: Sequence[_Found]) -> list[_Found]:
    """Sort the calls, without calls inside another call."""
    kept: list[_Found] = []
    for call in sorted(found, key=lambda call: (call.start, -call.end)):
        last = kept[-1] if kept else None
        is_same_value = last is not None and (last.start, last.end) == (call.start, call.end)
        if last is None or call.start >= last.end or (is_same_value and call != last):
            kept.append(call)
    return kept
