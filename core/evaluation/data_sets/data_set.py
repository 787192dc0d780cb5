"""A data set: documents, and questions with graded documents, marked excerpts and reference answers."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from core.config.egress import PAGES
from core.evaluation.metrics.excerpt_metrics import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusDocument:
    """A document that is searched."""

    id: str
    text: str
    title: str = ""
    language: str = ""
    """The ISO 639-1 code that was read with it; empty: to be found from the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with what is known about its answer. Without a relevant document it has none in this data set."""

    id: str
    text: str
    judgements: Mapping[str, int] = field(default_factory=dict)
    """The grade of each judged document; 0 is judged and not relevant."""
    excerpts: tuple[Range, ...] = ()
    """The characters that answer it, in the texts of documents."""
    answers: tuple[str, ...] = ()
    """Reference answers."""

    @property
    def answerable(self) -> bool:
        """Whether a document is judged relevant."""
        return any(grade > 0 for grade in self.judgements.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """Questions with judgements, and the documents that they are asked of."""

    name: str
    questions: tuple[Question, ...]
    documents: Callable[[], Iterator[CorpusDocument]]
    """Reads the documents from the beginning, one at a time. Raises `BadInput` where one cannot be used."""
    warnings: tuple[str, ...] = ()
    """What was found odd, and left as it is."""
    origins: frozenset[str] = frozenset({PAGES})
    """Where its documents come from, as `EgressPolicy` knows it."""
