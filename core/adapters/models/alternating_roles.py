"""Messages for models whose chat template has no system role, or wants users and assistants in turns."""

import re
from collections.abc import Sequence
from dataclasses import replace

from core.model import Message

_REFUSAL = re.compile(
    r"roles? must alternate|only user\b.{0,60}\broles? (?:is|are) supported|developer instruction is not enabled"
    r"|system (?:role|message|prompt|instruction)s? (?:(?:is|are) )?(?:not |un)(?:supported|enabled|allowed|available)"
    r"|(?:unsupported|unknown|invalid) role:? .?system",
    re.IGNORECASE | re.DOTALL,
)
STATUSES = frozenset((400, 422, 424, 500))
"""Statuses with which servers refuse the roles of messages: a failed template is a server error to some."""


def refuses_roles(message: str) -> bool:
    """Return whether an error says that the roles of the messages are not accepted."""
    return bool(_REFUSAL.search(message))


def alternating(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without a system role, and no two in a row of one role.

    What a system message says stands at the beginning of the user's message after it. Tool calls and their results stay.
    """
    turns: list[Message] = []
    for message in messages:
        turn = replace(message, role="user") if message.role == "system" else message
        last = turns[-1] if turns else None
        plain = last and not (last.tool_calls or turn.tool_calls or turn.role == "tool")
        if last and plain and last.role == turn.role:
            turns[-1] = replace(last, content=f"{last.content}\n\n{turn.content}".strip())
        else:
            turns.append(turn)
    return turns
