"""The part of a conversation's history that fits into a budget of tokens."""

from collections.abc import Sequence
from dataclasses import replace

from core.model import Exchange
from core.text.sanitize import CHARACTERS_A_TOKEN, pluralize, truncate


def recent(history: Sequence[Exchange], tokens: int) -> tuple[Exchange, ...]:
    """The newest exchanges of at most so many estimated tokens together, oldest first.

    Questions are kept whole. The answer of the oldest one that is kept may be cut to what room there is.
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
    """What a person is told when so many of the oldest exchanges do not fit; empty for none."""
    left_out = pluralize(dropped, "earlier question")
    return f"The history was cut to its budget of tokens: {left_out} left out." if dropped else ""
