"""Tool calls of a streamed reply, which arrive in pieces, whole, repeated, or with wrong indexes."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.adapters.models.replies.loose_json import loose_value, strict_value
from core.model import FunctionCall, ToolCall, content_text

UNNAMED = "unnamed"
"""The name of a call whose function has none."""


_MOST_CALLS, _MOST_CHARACTERS = 200, 20_000
"""Calls of a reply, and characters of a call's arguments: far above any tool's needs."""
_FENCED = re.compile(r"```\w*\s*(.*?)\s*```", re.DOTALL)
_MORE = re.compile(r"[\w{\[]")
_BESIDE_NAME = re.compile(r"[<|\s(.:/]+")


@dataclass(slots=True)
class _Part:
    """A call so far."""

    id: str
    index: int | None
    name: str = ""
    arguments: str = ""

    @property
    def is_whole(self) -> bool:
        return is_object(self.arguments)


class ToolCallAssembler:
    """Joins the pieces of streamed tool calls.

    A piece belongs to the call with its id, else with its index, else to the latest call. It begins a new call if that
    call is whole, or if it has another id or name and its arguments begin again. This is needed because servers give
    the same index to several calls, or a new id to each piece of one. A call without an id gets one.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        """Assemble calls of the functions `names`, which the model was offered."""
        self._names = names
        self._parts: list[_Part] = []

    def read(self, deltas: Any) -> None:
        """Add the `tool_calls` of a delta or message. A server may have sent any value there."""
        for delta in deltas if isinstance(deltas, list) else [deltas]:
            if isinstance(delta, dict):
                self._add(delta)

    def _add(self, delta: dict[str, Any]) -> None:
        function = delta.get("function")
        holder = function if isinstance(function, dict) else delta
        named = function if isinstance(function, str) else holder.get("name")
        call_id, name = content_text(delta.get("id")), offered_name(content_text(named), self._names)
        arguments = next(
            (
                written
                for key in ("arguments", "parameters", "input", "args")
                if (written := _written(holder.get(key)))
            ),
            "",
        )
        if not (call_id or name or arguments):
            return
        index = _index(delta.get("index"))
        part = self._part_of(call_id, index)
        if part is None or self._begins_anew(part, call_id, name, arguments, index):
            if part is None and not name and not call_id and self._parts:
                part = self._parts[-1]  # the server changed its index
            elif len(self._parts) >= _MOST_CALLS:
                return
            else:
                part = _Part(call_id, index)
                self._parts.append(part)
        part.id = part.id or call_id
        part.name = self._joined_name(part.name, name)
        part.arguments = _joined(part.arguments, arguments)[:_MOST_CHARACTERS]

    def _part_of(self, call_id: str, index: int | None) -> _Part | None:
        """Find the latest call with the id or index. A piece with neither belongs to the latest call."""
        for part in reversed(self._parts):
            if call_id and part.id == call_id:
                return part
        for part in reversed(self._parts):
            if index is not None and part.index == index:
                return part
        return self._parts[-1] if self._parts and index is None else None

    def _begins_anew(self, part: _Part, call_id: str, name: str, arguments: str, index: int | None) -> bool:
        is_same = bool(call_id) and call_id == part.id
        if arguments.strip() and arguments.strip() == part.arguments.strip():  # sent twice
            return not is_same and bool(call_id and part.id)
        if part.is_whole:
            if arguments.strip():
                return arguments.lstrip()[:1] == "{" and bool(name or call_id)
            return bool(name) and not is_same and (bool(call_id) or index is None or name != part.name)
        if is_same or not name:
            return False
        begins = not arguments.strip() or arguments.lstrip()[:1] == "{"
        is_other = bool(call_id and part.id) or (not call_id and bool(part.name) and index is None)
        return begins and is_other and not arguments.startswith(part.arguments or "\0")

    def _joined_name(self, name: str, piece: str) -> str:
        if not name or not piece or piece == name:
            return name or piece
        pieces = name + piece
        in_pieces = any(offered.startswith(pieces) for offered in self._names)
        return pieces if in_pieces and name not in self._names else name

    @property
    def begun(self) -> bool:
        """Whether there is a call."""
        return any(part.name or part.arguments for part in self._parts)

    def calls(self) -> Sequence[ToolCall]:
        """Return the calls in the order of their indexes. A call with arguments and no name is `UNNAMED`."""
        ordered = sorted(
            enumerate(self._parts), key=lambda item: item[0] if item[1].index is None else item[1].index
        )
        calls, ids = list[ToolCall](), set[str]()
        for number, (_, part) in enumerate(ordered):
            if not part.name and unwrapped(part.arguments) == "{}":
                continue
            call_id = part.id or f"call_{number}"
            while call_id in ids:
                call_id = f"{call_id}_{number}"
            ids.add(call_id)
            function = FunctionCall(name=part.name or UNNAMED, arguments=unwrapped(part.arguments))
            calls.append(ToolCall(id=call_id, function=function))
        return calls


def _index(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else None


def _written(arguments: Any) -> str:
    """Convert the arguments to text. A server may send an object."""
    if isinstance(arguments, dict):
        return json.dumps(arguments, ensure_ascii=False)
    return content_text(arguments)


def _joined(arguments: str, piece: str) -> str:
    """Join the arguments with the next piece, which may repeat and extend them."""
    begun = arguments.strip()
    if is_object(begun) and is_object(piece):  # the whole again, or for the first time
        return arguments if piece.strip() == "{}" else piece
    if begun and piece.strip() == begun and is_object(begun):
        return arguments
    if len(begun) > 1 and begun[0] == "{" and piece.strip().startswith(begun):
        return piece
    return arguments + piece


def offered_name(name: str, names: Sequence[str]) -> str:
    """Return a function's name as it was offered. Prefixes, numbers and tokens beside it are removed, and case too."""
    stripped = name.strip()
    offered = {offered.casefold(): offered for offered in names}
    bare = (word.casefold() for word in (stripped, *_BESIDE_NAME.split(stripped)))
    return next((offered[word] for word in bare if word in offered), stripped)


def unwrapped(arguments: str) -> str:
    """Unwrap arguments that should be a JSON object.

    They may be in a fence, JSON within a JSON text, empty, or slightly damaged JSON.
    """
    text = arguments.strip()
    if fenced := _FENCED.fullmatch(text):
        text = fenced[1].strip()
    for _ in range(2):
        if text[:1] != '"':
            break
        try:
            inner = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            break
        text = inner.strip() if isinstance(inner, str) else text
    return _repaired(text) if text and text != "null" else "{}"


def _repaired(text: str) -> str:
    """Return damaged arguments as the JSON object that they begin with, unless another value follows."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        value, end = strict_value(text) or loose_value(text) or (None, 0)
        if isinstance(value, dict) and not _MORE.search(text, end):
            return json.dumps(value, ensure_ascii=False)
    return text


def is_object(text: str) -> bool:
    """Check that a text is one JSON object."""
    if not text.strip().startswith("{") or not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(json.loads(text, strict=False), dict)
    except (ValueError, RecursionError):
        return False
