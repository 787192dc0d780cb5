"""The parts of an answer's prompt, with their tokens and cost."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from core.config.prices import Cost, Prices
from core.model import Message, Usage
from core.run.state import Run
from core.text.sanitize import estimated_tokens, one_line

_RULES = re.compile(r'<source-(\w+) number="…">')
"""Matches the tags of sources in the rules of a prompt, with the code that no page knows."""


class ContextPart(StrEnum):
    """Kinds of parts of a prompt, in their order."""

    INSTRUCTIONS = "instructions"
    HISTORY = "history"
    SOURCE = "source"
    QUESTION = "question"


_TITLES: Mapping[ContextPart | int, str] = {
    ContextPart.INSTRUCTIONS: "rules of the answer and its citations",
    ContextPart.HISTORY: "earlier questions and answers of the conversation",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartUsage:
    """A part of a prompt. Tokens are estimated from its characters, tags included."""

    part: ContextPart
    number: int = 0
    """The number of a source, or 0 for other parts."""
    title: str
    """A title on one line: a source's page title, or the words of the question."""
    tokens: int
    share: float
    """Share of the tokens of the prompt, from 0 to 1."""
    cost: Cost | None
    """The cost, or None if the model's price is unknown."""

    @property
    def name(self) -> str:
        """The displayed name, such as `Source 3`."""
        return f"Source {self.number}" if self.number else str(self.part).capitalize()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextUsage:
    """The parts of a prompt, and its total."""

    parts: tuple[PartUsage, ...]
    tokens: int
    """Estimated tokens of all parts."""
    cost: Cost | None
    counted: int | None
    """The prompt tokens counted by the model's server, or None."""


def context_usage(run: Run, prices: Prices) -> ContextUsage | None:
    """Return the parts of the latest prompt for an answer, or None without a prompt."""
    if not run.prompt:
        return None
    characters = Counter[tuple[ContextPart, int]]()
    for part, number, length in _lengths(run.prompt):
        characters[part, number] += length
    order = list(ContextPart)
    tokens = {
        key: estimated_tokens(characters[key])
        for key in sorted(characters, key=lambda key: order.index(key[0]))
        if characters[key]
    }
    total = sum(tokens.values())
    price = prices.price(run.answer.model) if run.answer and run.answer.model else None
    titles = {**_TITLES, ContextPart.QUESTION: one_line(run.question)} | {
        source.number: one_line(source.title) for source in run.sources
    }

    def cost(count: int) -> Cost | None:
        return price.of(Usage(prompt_tokens=count)) if price else None

    return ContextUsage(
        parts=tuple(
            PartUsage(
                part=part,
                number=number,
                title=titles.get(number or part, ""),
                tokens=count,
                share=count / total,
                cost=cost(count),
            )
            for (part, number), count in tokens.items()
        ),
        tokens=total,
        cost=cost(total),
        counted=run.answer.usage.prompt_tokens if run.answer and run.answer.usage else None,
    )


def without_history(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return a prompt without earlier turns and without a chat client's additions."""
    block = _tagged(messages, "question|answer|client|asker")
    return tuple(
        replace(message, content=block.sub("", message.content)) if block else message for message in messages
    )


def _tagged(messages: Sequence[Message], tags: str) -> re.Pattern[str] | None:
    """Return a pattern for prompt text in these tags, or None without a code."""
    rules = next(filter(None, (_RULES.search(message.content) for message in messages)), None)
    pattern = rf'<({tags})-{rules[1]}(?: number="(\d+)")?>\n.*?</\1-{rules[1]}>' if rules else ""
    return re.compile(pattern, re.DOTALL) if pattern else None


def _lengths(messages: Sequence[Message]) -> Iterator[tuple[ContextPart, int, int]]:
    """Yield parts with a source number, and their characters.

    Text outside tags is an instruction, or the question in a message of the user.
    """
    block = _tagged(messages, "source|question|answer")
    for message in messages:
        rest = len(message.content)
        for match in block.finditer(message.content) if block else ():
            part = ContextPart.SOURCE if match[1] == "source" else ContextPart.HISTORY
            yield part, int(match[2] or 0), len(match[0])
            rest -= len(match[0])
        asked = message.role == "user"
        yield ContextPart.QUESTION if asked else ContextPart.INSTRUCTIONS, 0, rest
