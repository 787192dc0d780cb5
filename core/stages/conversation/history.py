"""Cut a conversation's history to a budget of tokens."""

from collections.abc import Sequence
from dataclasses import replace

from core.model import Exchange
from core.text.sanitize import CHARACTERS_A_TOKEN, pluralize, truncate


def recent(history: Sequence[Exchange], tokens: int) -> tuple[Exchange, ...]:
    """Return the newest exchanges within `tokens` estimated tokens. They are in order, oldest first.

    Questions are kept whole. The oldest kept answer may be cut to the remaining room.
    """
    kept: list[Exchange] = []
    room = tokens * CHARACTERS_A_TOKEN
    for exchange in reversed(history):
        answer_room = room - len(exchange.question)
        if answer_room <= 0:
            break
        kept.append(replace(exchange, answer=truncate(exchange.answer, answer_room)))
        room = answer_room - len(exchange.answer)
    return tuple(reversed(kept))


def dropped_note(dropped: int) -> str:
    """Return the note that old exchanges were dropped, or ""."""
    left_out = pluralize(dropped, "earlier question")
    return f"The history was cut to its budget of tokens: {left_out} left out." if dropped else ""
