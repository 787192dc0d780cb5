"""A data set: documents, and questions with graded documents, marked excerpts and reference answers."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from core.config.egress import PAGES
from core.evaluation.data_sets.source import Source
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
    line: int = field(default=0, compare=False)
    """Where it stands in the file of its data set's questions, from 1; 0 where that is not known."""

    @property
    def answerable(self) -> bool:
        """Whether a document is judged relevant."""
        return any(grade > 0 for grade in self.judgements.values())


@dataclass(frozen=True, slots=True)
class Contents:
    """What the documents of a data set come to."""

    documents: int
    characters: int
    digest: str
    """SHA-256 of the documents in their order, in hexadecimal."""


class Tally:
    """Counts documents while they are read."""

    def __init__(self) -> None:
        self._documents = self._characters = 0
        self._digest = hashlib.sha256()

    def add(self, document: CorpusDocument) -> CorpusDocument:
        """Count a document, and return it."""
        self._documents, self._characters = self._documents + 1, self._characters + len(document.text)
        content = f"{document.id}\0{document.title}\0{document.text}\0"
        self._digest.update(content.encode(errors="surrogatepass"))
        return document

    @property
    def contents(self) -> Contents:
        """What was counted."""
        return Contents(self._documents, self._characters, self._digest.hexdigest())


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
    questions_file: Source | None = None
    """The file that the lines of its questions are of."""
    counted: Contents | None = None
    """Its documents as they were when it was checked; None where it was not."""

    def contents(self) -> Contents:
        """What the documents came to when it was checked; else they are read for it.

        Raises:
            BadInput: when a document cannot be used.
        """
        if self.counted:
            return self.counted
        tally = Tally()
        for document in self.documents():
            tally.add(document)
        return tally.contents
