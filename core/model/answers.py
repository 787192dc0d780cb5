"""What was answered: the answer and its citations."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from core.model.usage import Usage


class AnswerKind(StrEnum):
    """Who wrote the answer."""

    WRITTEN = "written"
    """The chat model, from the sources."""
    EXTRACTIVE = "extractive"
    """Sentences quoted from the sources, because no chat model is connected."""
    NOT_FOUND = "nothing"
    """Nobody: the sources do not hold an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was written about a question, and by whom."""

    kind: AnswerKind
    text: str
    model: str = ""
    usage: Usage | None = None
    finish: str | None = None
    complete: bool = True
    """False when the stream broke or was stopped; `text` is then what came."""
    cached: bool = False
    """Whether the model wrote it for an earlier run, from the same sources. No tokens were used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A mark such as [2] at `answer.text[start:end]`. `known` is False when no source has that number."""

    number: int
    start: int
    end: int
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of the answer at `answer.text[start:end]`, with the known numbers that it cites.

    What counts as one, and what `text` leaves out of the answer's Markdown, `core.text.markdown.cited_sentences` says.
    """

    start: int
    end: int
    cites: tuple[int, ...]
    text: str = ""
    """Its words, without marks of Markdown and of citations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationCheck:
    """The answer's citations, resolved against the numbers that exist."""

    citations: tuple[Citation, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    cited: tuple[int, ...] = field(default=())
    """Known numbers in order of first use."""

    @property
    def citation_counts(self) -> Counter[int]:
        """How many sentences cite each source. A sentence with several marks of one source cites it once."""
        return Counter(number for sentence in self.sentences for number in sentence.cites)

    @property
    def unknown(self) -> tuple[int, ...]:
        """Numbers that are cited and that no source has, each once, ascending."""
        return tuple(sorted({mark.number for mark in self.citations if not mark.known}))
