"""Tool calls of a streamed reply, which come in pieces."""

from collections.abc import Sequence
from typing import Any

from core.model import FunctionCall, ToolCall, content_text


class ToolCallAssembler:
    """Puts tool calls together from the pieces in which a stream brings them.

    Pieces of one call share an `index`. Some servers send whole calls without one: then each piece with a
    function's name begins a call. A call without an id gets one, and pieces of no call are dropped.
    """

    def __init__(self) -> None:
        self._parts: dict[int, dict[str, str]] = {}

    def read(self, deltas: Any) -> None:
        """The `tool_calls` of a delta or message, whatever a server has sent there."""
        for delta in deltas if isinstance(deltas, list) else ():
            function = delta.get("function") if isinstance(delta, dict) else None
            if isinstance(function, dict):
                self._add(delta, function)

    def _add(self, delta: dict[str, Any], function: dict[str, Any]) -> None:
        index = delta.get("index")
        if not isinstance(index, int):
            last = max(self._parts, default=-1)
            index = last + 1 if function.get("name") or last < 0 else last
        part = self._parts.setdefault(index, {"id": "", "name": "", "arguments": ""})
        part["id"] = part["id"] or content_text(delta.get("id"))
        part["name"] = part["name"] or content_text(function.get("name"))
        part["arguments"] += content_text(function.get("arguments"))

    def calls(self) -> Sequence[ToolCall]:
        """The calls, in the order of their indexes."""
        return [
            ToolCall(
                id=part["id"] or f"call_{index}",
                function=FunctionCall(name=part["name"], arguments=part["arguments"] or "{}"),
            )
            for index, part in sorted(self._parts.items())
            if part["name"]
        ]
