"""Other questions from search engines' corrections and suggestions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.run.state import Run

MOST_OFFERS = 4
"""The most offered questions."""


@dataclass(frozen=True, slots=True)
class OtherQuestion:
    """A question to ask instead, and whether it only corrects the spelling."""

    text: str
    is_correction: bool


def other_questions(run: Run) -> tuple[OtherQuestion, ...]:
    """Return the distinct questions from search engines, corrections first.

    The correction of a query that a model wrote corrects the same words of the question.
    """
    corrected = (
        OtherQuestion(_corrected(run.question, query.text, correction), is_correction=True)
        for query, reply in run.replies.items()
        for correction in reply.corrections
    )
    suggested = (
        OtherQuestion(text, is_correction=False)
        for reply in run.replies.values()
        for text in reply.suggestions
    )
    asked = {run.question.casefold()}
    return tuple(_new((*corrected, *suggested), asked))[:MOST_OFFERS]


def _new(offers: tuple[OtherQuestion, ...], seen: set[str]) -> Iterator[OtherQuestion]:
    for offer in offers:
        if offer.text.casefold() not in seen:
            seen.add(offer.text.casefold())
            yield offer


def _corrected(question: str, query: str, correction: str) -> str:
    """Return the question with the query's corrected words, or else the correction."""
    before, after = query.split(), correction.split()
    if len(before) != len(after):
        return correction
    changed = question
    for wrong, right in zip(before, after, strict=True):
        if wrong.casefold() != right.casefold():
            word = re.compile(rf"(?<!\w){re.escape(wrong)}(?!\w)", re.IGNORECASE)
            if not word.search(changed):
                return correction
            changed = word.sub(lambda _, right=right: right, changed)  # type: ignore[misc]
    return changed
