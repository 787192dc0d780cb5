"""A question of a conversation with its answer, as later questions see it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A question and its answer. The answer may quote pages, so its text is untrusted; it may be empty."""

    question: str
    answer: str
