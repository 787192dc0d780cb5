"""The answer and its citations."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from core.model.usage import Usage


class AnswerKind(StrEnum):
    """The author of the answer."""

    WRITTEN = "written"
    """Written by the chat model from the sources."""
    EXTRACTIVE = "extractive"
    """Sentences quoted from the sources, because no chat model is connected."""
    NOT_FOUND = "nothing"
    """No answer, because the sources do not hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a question, and its author."""

    kind: AnswerKind
    text: str
    model: str = ""
    usage: Usage | None = None
    finish: str | None = None
    complete: bool = True
    """False if the stream broke or was stopped. `text` is then incomplete."""
    cached: bool = False
    """Whether the model wrote it for an earlier run, from the same sources. No tokens were used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A mark such as [2] at `answer.text[start:end]`. `known` is False if no source has that number."""

    number: int
    start: int
    end: int
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of the answer with the known numbers that it cites. It is at `answer.text[start:end]`.

    `core.text.markdown.cited_sentences` defines sentences, and the Markdown that `text` leaves out.
    """

    start: int
    end: int
    cites: tuple[int, ...]
    text: str = ""
    """The words, without marks of Markdown and of citations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationCheck:
    """The answer's citations, resolved against the existing numbers."""

    citations: tuple[Citation, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    cited: tuple[int, ...] = field(default=())
    """Known numbers in order of first use."""

    @property
    def citation_counts(self) -> Counter[int]:
        """The number of citing sentences for each source. A sentence with several marks of one source cites it once."""
        return Counter(number for sentence in self.sentences for number in sentence.cites)

    @property
    def unknown(self) -> tuple[int, ...]:
        """The distinct cited numbers without a source, ascending."""
        return tuple(sorted({mark.number for mark in self.citations if not mark.known}))
