"""Conversations: a question after another one, answered from the pages in hand, from new ones, or from both."""

from collections.abc import Callable, Sequence

from core.model import AnswerFrom, Exchange, Turn
from core.run.state import Run


def next_turn(
    earlier: Run,
    *,
    written: str,
    answer_from: AnswerFrom,
    author: str = "",
    coverage: float | None = None,
    history: Sequence[Exchange] = (),
) -> Turn:
    """The turn of a question that follows `earlier`; the arguments are those of `Turn`.

    Passages that are sources of `earlier`, or of a turn before it, keep their numbers.
    """
    numbers = {source.passage.id: source.number for source in earlier.sources}
    return Turn(
        conversation=earlier.conversation,
        follows=earlier.id,
        number=turn_number(earlier) + 1,
        written=written,
        answer_from=answer_from,
        author=author,
        coverage=coverage,
        history=tuple(history),
        numbers={**earlier.numbers, **numbers},
    )


def turn_number(run: Run) -> int:
    """The place of the run in its conversation, from 1."""
    return run.turn.number if run.turn else 1


def turns_up_to(run: Run, get: Callable[[str], Run | None]) -> tuple[Run, ...]:
    """The run and those that it follows, oldest first. One that was deleted ends the list."""
    turns = [run]
    while (turn := turns[-1].turn) and (before := get(turn.follows)):
        turns.append(before)
    return tuple(reversed(turns))


def exchanges(turns: Sequence[Run]) -> tuple[Exchange, ...]:
    """The questions of these runs with their answers."""
    return tuple(
        Exchange(question=run.question, answer=run.answer.text if run.answer else "") for run in turns
    )
