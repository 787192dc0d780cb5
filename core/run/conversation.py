"""Conversations: follow-up questions and the runs before them."""

from collections.abc import Callable, Iterator, Sequence

from core.model import AnswerFrom, Exchange, ModelUsage, Turn
from core.run.state import Run

GetRun = Callable[[str], Run | None]
"""Return the run with an id, or None if it does not exist."""


def next_turn(
    earlier: Run | None,
    *,
    written: str,
    answer_from: AnswerFrom,
    author: str = "",
    coverage: float | None = None,
    history: Sequence[Exchange] = (),
    notes: Sequence[str] = (),
    usage: Sequence[ModelUsage] = (),
    seconds: float = 0.0,
) -> Turn:
    """Return the turn of a question that follows `earlier`.

    `earlier` is None if the previous questions were asked elsewhere. The other arguments are fields of `Turn`. Passages
    that are sources of `earlier`, or of a turn before it, keep their numbers.
    """
    numbers = {source.passage.id: source.number for source in earlier.sources} if earlier else {}
    return Turn(
        conversation=earlier.conversation if earlier else "",
        follows=earlier.id if earlier else "",
        number=turn_number(earlier) + 1 if earlier else 1,
        written=written,
        answer_from=answer_from,
        author=author,
        coverage=coverage,
        history=tuple(history),
        numbers={**earlier.numbers, **numbers} if earlier else {},
        notes=tuple(notes),
        usage=tuple(usage),
        seconds=seconds,
    )


def turn_number(run: Run) -> int:
    """Return the run's position in its conversation, from 1."""
    return run.turn.number if run.turn else 1


def turns_back_from(run: Run, get: GetRun) -> Iterator[Run]:
    """Yield the run and its earlier turns, latest first. A deleted run ends the iteration."""
    earlier: Run | None = run
    while earlier is not None:
        yield earlier
        earlier = get(earlier.turn.follows) if earlier.turn and earlier.turn.follows else None


def turns_up_to(run: Run, get: GetRun) -> tuple[Run, ...]:
    """Return the run and its earlier turns, oldest first. The list begins after the latest deleted run."""
    return tuple(turns_back_from(run, get))[::-1]


def recent_turns(run: Run, get: GetRun, characters: int) -> tuple[Run, ...]:
    """Return the latest turns that fill `characters` with text.

    The text is their questions and answers. Earlier turns are not loaded.
    """
    turns: list[Run] = []
    for turn in turns_back_from(run, get):
        turns.append(turn)
        characters -= len(turn.question) + len(turn.text)
        if characters <= 0:
            break
    return tuple(reversed(turns))


def exchanges(turns: Sequence[Run]) -> tuple[Exchange, ...]:
    """Return the questions of these runs with their answers."""
    return tuple(
        Exchange(question=run.question, answer=run.answer.text if run.answer else "", origins=run.origins)
        for run in turns
    )
